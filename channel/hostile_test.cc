// A hostile peer writes arbitrary data into its memory. Each half of the frame protocol responds
// correctly, and reads and writes only the data, which is between inaccessible pages.
//
// LAPWING_CHANNEL_OPERATIONS: the number of variants.

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "testing/hostile_channel.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kVariantsPerRing = 500;
constexpr std::size_t kPeekMax = 40;
constexpr std::uint64_t kRacesMax = 1'000'000'000;  // after this many, the wait has failed
constexpr std::byte kCanary{0xa5};

// Data that ends or begins at an inaccessible page. The rest of its own pages is checked for
// changes.
class GuardedMemory {
 public:
  GuardedMemory(std::size_t size, bool at_end)
      : pages_((size + kPageBytes - 1) / kPageBytes * kPageBytes),
        mapping_(static_cast<std::byte*>(mmap(nullptr, pages_ + 2 * kPageBytes, PROT_NONE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(mapping_ != MAP_FAILED);
    REQUIRE(mprotect(usable().data(), pages_, PROT_READ | PROT_WRITE) == 0);
    std::ranges::fill(usable(), kCanary);
    bytes_ = at_end ? usable().last(size) : usable().first(size);
    std::ranges::fill(bytes_, std::byte{});
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(mapping_, pages_ + 2 * kPageBytes); }

  std::span<std::byte> bytes() const { return bytes_; }
  bool holds(std::span<const std::byte> part) const { return lies_in(part, bytes_); }
  bool is_untouched_around() const {
    const auto is_canary = [](std::byte byte) { return byte == kCanary; };
    return std::all_of(usable().data(), bytes_.data(), is_canary) &&
           std::all_of(bytes_.data() + bytes_.size(), usable().data() + pages_, is_canary);
  }

 private:
  std::span<std::byte> usable() const { return {mapping_ + kPageBytes, pages_}; }

  std::size_t pages_;
  std::byte* mapping_;
  std::span<std::byte> bytes_;
};

// --- A hostile producer against FrameReader

// The rules of docs/explanation/channel-protocol.md for the frame at `from`. The reader must agree.
class Judge {
 public:
  Judge(std::span<const std::byte> data, const FrameGeometry& geometry)
      : data_(data), geometry_(geometry) {}

  FrameReader::Look judge(ChannelPosition from, ChannelPosition released) const {
    if (!is_there(from)) return FrameReader::Look::kEmpty;
    std::uint64_t kind = read(from) >> 40 & 3;
    if (kind == 3) {
      if (from % geometry_.capacity == 0) return FrameReader::Look::kCorrupt;
      from = (from / geometry_.capacity + 1) * geometry_.capacity;
      kind = read(from) >> 40 & 3;
      if (!is_there(from) || kind != 2) return FrameReader::Look::kCorrupt;
    }
    const bool is_long = kind == 2;
    if (kind == 1 && geometry_.payload_offset != 16) return FrameReader::Look::kCorrupt;
    const std::uint64_t size = is_long ? read(from + 8) : read(from) >> 32 & 0xff;
    if (size > geometry_.maximum) return FrameReader::Look::kCorrupt;
    const std::uint64_t end_in_frame = (kind == 1 ? 8 : geometry_.payload_offset) + size;
    if (!is_long && end_in_frame > 64) return FrameReader::Look::kCorrupt;
    const std::uint64_t frame = (end_in_frame + 63) / 64 * 64;
    const bool is_right = from % geometry_.capacity + frame <= geometry_.capacity &&
                          from + frame <= released + geometry_.capacity;
    return is_right ? FrameReader::Look::kMessage : FrameReader::Look::kCorrupt;
  }

 private:
  std::uint64_t read(ChannelPosition at) const {
    std::uint64_t word;
    std::memcpy(&word, data_.data() + at % geometry_.capacity, sizeof word);
    return word;
  }
  bool is_there(ChannelPosition at) const {
    return read(at) >> 42 == (at / geometry_.capacity + 1) % (1 << 22);
  }

  std::span<const std::byte> data_;
  const FrameGeometry& geometry_;
};

std::uint64_t sum_of(std::span<const std::byte> payload) {
  std::uint64_t sum = 0;
  for (const std::byte byte : payload) sum += static_cast<std::uint64_t>(byte);
  return sum;
}

struct ReaderTally {
  std::uint64_t messages = 0;
  std::uint64_t empty = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t behind_padding = 0;
  std::uint64_t sum = 0;  // of every delivered byte, so that each is read
};

// Runs one variant. Returns nullptr, or what was wrong. `was_corrupt`: the channel is closed.
const char* read_variant(FrameReader& reader, const GuardedMemory& memory,
                         const FrameGeometry& geometry, Random& random, ReaderTally& tally,
                         bool& was_corrupt) {
  const Judge judge(memory.bytes(), geometry);
  Message message;
  message.end = reader.position();
  const std::uint64_t wanted = 1 + random.below(kPeekMax);
  std::uint64_t count = 0;
  while (count < wanted) {
    const ChannelPosition from = message.end;
    const FrameReader::Look seen = reader.look(from, message);
    if (seen != judge.judge(from, reader.position())) return "the answer to a frame";
    if (seen == FrameReader::Look::kEmpty) {
      ++tally.empty;
      break;
    }
    if (seen == FrameReader::Look::kCorrupt) {
      ++tally.corrupt;
      was_corrupt = true;
      return nullptr;
    }
    if (!memory.holds(message.payload)) return "a payload lies in the data";
    if (message.end <= from || message.end % kFrameAlign != 0) return "the end of a frame";
    tally.sum += sum_of(message.payload);
    tally.behind_padding +=
        message.payload.data() < memory.bytes().data() + from % geometry.capacity;
    ++count;
    if (random.one_in(8)) break;
  }
  tally.messages += count;
  if (count > 0) reader.release(message.end, count);
  return nullptr;
}

TEST_CASE("A reader of hostile data returns correct results and stays within the data") {
  const std::uint64_t variants = channel_operations() / 2;
  Random random(20'261'120);
  ReaderTally tally;
  for (std::uint64_t done = 0; done < variants;) {
    const FrameGeometry geometry = any_geometry(random);
    const GuardedMemory memory(geometry.capacity, random.one_in(2));
    ChannelWords own{};
    const ChannelHeader header =
        frame_header(geometry.capacity, geometry.maximum, geometry.payload_offset);
    FrameReader reader(memory.bytes().data(), header, own);
    FrameForger producer(memory.bytes(), geometry, random);
    for (std::uint64_t i = 0; i < kVariantsPerRing; ++i, ++done) {
      producer.forge(reader.position());
      if (random.one_in(16)) producer.scatter_noise();
      bool was_corrupt = false;
      const char* const broken = read_variant(reader, memory, geometry, random, tally, was_corrupt);
      INFO("variant " << done << ", capacity " << geometry.capacity << ", largest message "
                      << geometry.maximum << ", payload offset " << geometry.payload_offset);
      if (broken != nullptr) FAIL(broken);
      if (was_corrupt && random.one_in(2)) reader = FrameReader(memory.bytes().data(), header, own);
    }
  }
  INFO("sum of all payloads: " << tally.sum);
  CHECK(tally.messages > variants / 4);
  CHECK(tally.empty > variants / 8);
  CHECK(tally.corrupt > variants / 8);
  CHECK(tally.behind_padding > variants / 200);
}

// --- A hostile consumer against FrameWriter

struct WriterTally {
  std::uint64_t claimed = 0;
  std::uint64_t full = 0;
  std::uint64_t corrupt = 0;
};

// Writes messages while there is room, and the consumer reports arbitrary positions.
class Victim {
 public:
  Victim(const FrameGeometry& geometry, bool at_end, Random& random, WriterTally& tally)
      : geometry_(geometry), memory_(geometry.capacity, at_end), random_(random), tally_(tally) {
    start();
  }

  const char* step() {
    spoil_peer();
    if (random_.one_in(4)) return look();
    for (std::uint64_t messages = 1 + random_.below(20); messages > 0; --messages) {
      const FrameWriter::Room room =
          writer_.claim(static_cast<std::uint32_t>(random_.below(geometry_.maximum + 1ULL)));
      if (room == FrameWriter::Room::kCorrupt) {
        if (is_possible()) return "a position that a consumer may have is taken for corrupt";
        ++tally_.corrupt;
        start();
        return nullptr;
      }
      if (room == FrameWriter::Room::kFull) {
        ++tally_.full;
        seen_ = peer_.received.position;
        break;
      }
      if (const char* broken = write(); broken != nullptr) return broken;
    }
    if (writer_.has_staged() && random_.one_in(2)) publish();
    if (!random_.one_in(16) || memory_.is_untouched_around()) return nullptr;
    return "nothing is written outside of the data";
  }

 private:
  void start() {
    own_ = {};
    peer_ = {};
    seen_ = 0;
    writer_ = FrameWriter(
        memory_.bytes().data(),
        frame_header(geometry_.capacity, geometry_.maximum, geometry_.payload_offset), own_, peer_);
  }

  void spoil_peer() {
    const ChannelPosition visible = own_.sent.position;
    const std::uint64_t lines = (visible - seen_) / kFrameAlign;
    const ChannelPosition right = seen_ + random_.below(lines + 1) * kFrameAlign;
    peer_.received.position = spoilt(random_, right, geometry_.capacity);
    peer_.received.messages = random_.next();
    peer_.ticket.value = random_.next();
    peer_.state.value = random_.next();
  }
  bool is_possible() const {
    const ChannelPosition said = peer_.received.position;
    return said >= seen_ && said <= own_.sent.position && said % kFrameAlign == 0;
  }

  // Always reads what the consumer reports, so that the result is known.
  const char* look() {
    const bool is_possible = this->is_possible();
    const FrameWriter::Room room = writer_.look_whether_drained();
    if ((room == FrameWriter::Room::kCorrupt) == is_possible) return "the answer to a position";
    if (is_possible) {
      seen_ = peer_.received.position;
      const bool is_drained = seen_ == own_.sent.position;
      if ((room == FrameWriter::Room::kYes) != is_drained) return "whether all was released";
    } else {
      ++tally_.corrupt;
      start();
    }
    return nullptr;
  }

  const char* write() {
    ++tally_.claimed;
    if (writer_.received() != seen_) seen_ = peer_.received.position;
    const std::span<std::byte> payload = writer_.payload();
    if (!memory_.holds(payload) && !lies_in(payload, writer_.line())) {
      return "a claim lies in the data, or in the writer's own line";
    }
    std::memset(payload.data(), static_cast<int>(random_.below(256)), payload.size());
    if (random_.one_in(8)) {
      writer_.abort();
      return nullptr;
    }
    const auto actual = static_cast<std::uint32_t>(random_.below(payload.size() + 1));
    if (random_.one_in(4)) {
      writer_.commit(actual, 0);
      return writer_.position() > seen_ + geometry_.capacity ? "what is not released is kept"
                                                             : nullptr;
    }
    writer_.stage(actual, 0);
    if (writer_.position() > seen_ + geometry_.capacity) return "what is not released is kept";
    if (random_.one_in(2)) publish();
    return nullptr;
  }
  void publish() { writer_.publish(); }

  FrameGeometry geometry_;
  GuardedMemory memory_;
  Random& random_;
  WriterTally& tally_;
  ChannelWords own_;
  ChannelWords peer_;
  FrameWriter writer_;
  ChannelPosition seen_ = 0;  // the last possible position that the writer has read
};

TEST_CASE("A writer stays within its data, whatever its peer's state") {
  const std::uint64_t variants = channel_operations() / 2;
  Random random(11'202'026);
  WriterTally tally;
  for (std::uint64_t done = 0; done < variants;) {
    const FrameGeometry geometry = any_geometry(random);
    Victim victim(geometry, random.one_in(2), random, tally);
    for (std::uint64_t i = 0; i < kVariantsPerRing; ++i, ++done) {
      const char* const broken = victim.step();
      INFO("variant " << done << ", capacity " << geometry.capacity << ", largest message "
                      << geometry.maximum << ", payload offset " << geometry.payload_offset);
      if (broken != nullptr) FAIL(broken);
    }
  }
  CHECK(tally.claimed > variants / 4);
  CHECK(tally.full > variants / 100);
  CHECK(tally.corrupt > variants / 8);
}

// --- Words that change while they are read

void store(std::byte* at, std::uint64_t word) {
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at))
      .store(word, std::memory_order_relaxed);
}
std::uint64_t load(const std::byte* at) {
  return std::atomic_ref<std::uint64_t>(
             *const_cast<std::uint64_t*>(reinterpret_cast<const std::uint64_t*>(at)))
      .load(std::memory_order_relaxed);
}

// Runs `flip` repeatedly in another thread, for the life of the object.
template <typename Flip>
class Flipper {
 public:
  explicit Flipper(Flip flip)
      : thread_([this, flip] {
          while (!stop_.load(std::memory_order_relaxed)) flip();
        }) {}
  ~Flipper() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_CASE("A frame whose header flips while it is read is within the data, or corrupt") {
  constexpr std::uint64_t kCapacity = 4096;
  const std::uint32_t largest = largest_message(kCapacity, kPayloadOffsetPacked);
  const GuardedMemory memory(kCapacity, true);
  ChannelWords own{};
  const ChannelHeader header = frame_header(kCapacity, largest, kPayloadOffsetPacked);
  FrameReader reader(memory.bytes().data(), header, own);
  reader.release(kCapacity - 1024, 0);
  const ChannelPosition from = reader.position();
  std::byte* const frame = memory.bytes().data() + from;
  std::byte* const wrapped = memory.bytes().data();
  const FrameHeads heads(kCapacity);
  const Flipper flipper([=] {
    for (const std::uint32_t size : {8U, 50U, 1008U, 1009U, largest, largest + 1, 0x7fffffffU,
                                     kPaddingFrame, 64U, kPaddingFrame}) {
      const FrameWords words = frame_words(heads, from, size, 0, kPayloadOffsetPacked);
      store(frame, words.head);
      store(frame + 8, words.second);
      store(wrapped, heads.at(size == 64U ? 2 * kCapacity : kCapacity, FrameKind::kLong, 0, 0));
      store(wrapped + 8, size ^ 1);
    }
  });
  std::array<std::uint64_t, 3> seen{};
  std::uint64_t sum = 0;
  const auto is_enough = [&](std::uint64_t done) {
    return done >= 10 * channel_operations() && seen[0] != 0 && seen[2] != 0;
  };
  for (std::uint64_t i = 0; !is_enough(i) && i < kRacesMax; ++i) {
    Message message;
    const FrameReader::Look look = reader.look(from, message);
    ++seen[static_cast<std::size_t>(look)];
    if (look != FrameReader::Look::kMessage) continue;
    if (!memory.holds(message.payload) || message.payload.size() > largest) FAIL("out of the data");
    for (std::size_t at = 0; at + 8 <= message.payload.size(); at += 8) {
      sum += load(message.payload.data() + at);
    }
  }
  INFO("sum of all payloads: " << sum);
  CHECK(seen[static_cast<std::size_t>(FrameReader::Look::kMessage)] > 0);
  CHECK(seen[static_cast<std::size_t>(FrameReader::Look::kCorrupt)] > 0);
}

TEST_CASE("A consumer's position that flips does not give more room than there is") {
  constexpr std::uint64_t kCapacity = 4096;
  const std::uint32_t largest = largest_message(kCapacity, kPayloadOffsetPacked);
  const GuardedMemory memory(kCapacity, true);
  const ChannelHeader header = frame_header(kCapacity, largest, kPayloadOffsetPacked);
  ChannelWords own{};
  ChannelWords peer{};
  std::byte* const said = reinterpret_cast<std::byte*>(&peer.received.position);
  const Flipper flipper([said] {
    for (const std::uint64_t position : {0ULL, 64ULL, 63ULL, 4096ULL, 1ULL << 63, ~0ULL, 128ULL}) {
      store(said, position);
    }
  });
  std::uint64_t corrupt = 0;
  std::uint64_t claimed = 0;
  const auto is_enough = [&](std::uint64_t done) {
    return done >= channel_operations() && corrupt != 0 && claimed != 0;
  };
  for (std::uint64_t i = 0; !is_enough(i) && i < kRacesMax; ++i) {
    FrameWriter writer(memory.bytes().data(), header, own, peer);
    for (int messages = 0; messages < 20; ++messages) {
      const FrameWriter::Room room = writer.claim(static_cast<std::uint32_t>(i % largest));
      corrupt += room == FrameWriter::Room::kCorrupt;
      if (room != FrameWriter::Room::kYes) break;
      ++claimed;
      const bool is_short = lies_in(writer.payload(), writer.line());
      if (!is_short && !memory.holds(writer.payload())) FAIL("a claim out of the data");
      writer.stage(writer.claim_bytes(), 0);
      if (writer.position() > writer.received() + kCapacity) FAIL("more than the ring holds");
      writer.publish();
    }
  }
  CHECK(corrupt > 0);
  CHECK(claimed > 0);
}

}  // namespace
}  // namespace lapwing
