// A ring of any capacity accepts any message that it was made for, after any other messages.
//
// LAPWING_CHANNEL_STRIDE: the distance between the tested sizes of the largest message (1 tests
// every size, which takes a minute).

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "channel/memory_file.h"
#include "lapwing/error.h"
#include "testing/channel_frames.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kCapacityMax = 64 * 1024;
constexpr std::uint64_t kMessagesPerRing = 10'000;
constexpr std::uint64_t kStrideDefault = 61;
constexpr std::uint32_t kOffsets[] = {kPayloadOffsetPacked, kPayloadOffsetCalls,
                                      kPayloadOffsetAligned};
constexpr std::size_t kBatchMax = 48;

std::uint64_t stride() {
  return count_from("LAPWING_CHANNEL_STRIDE", kStrideDefault);
}

// Calls visit(largest message) for 1, 1 + stride …, and around and beyond the last one that the
// capacity can hold.
template <typename Visit>
void for_each_maximum(std::uint64_t capacity, std::uint32_t payload_offset, std::uint64_t stride,
                      const Visit& visit) {
  const std::uint32_t last = largest_message(capacity, payload_offset);
  for (std::uint32_t maximum = 1; maximum < last; maximum += static_cast<std::uint32_t>(stride)) {
    visit(maximum);
  }
  visit(last);
  for (std::uint32_t beyond = last + 1; beyond < last + 200; ++beyond) visit(beyond);
  for (std::uint64_t beyond = last + 200; beyond < 3 * capacity; beyond += 61 * stride) {
    visit(static_cast<std::uint32_t>(beyond));
  }
}

// --- Refusals at creation

absl::Status create(std::uint64_t capacity, std::uint32_t maximum, std::uint32_t payload_offset) {
  return OwnMemory::create(frame_header(capacity, maximum, payload_offset), false, std::nullopt)
      .status();
}

// Returns the number at the end of a refusal, or 0 if there is none.
std::uint64_t named_capacity(const absl::Status& refusal) {
  const std::string message(refusal.message());
  std::uint64_t named = 0;
  const std::string last_word = message.substr(message.rfind(' ') + 1);
  return absl::SimpleAtoi(last_word, &named) ? named : 0;
}

// Whether an empty ring accepts every message up to the largest at once, at every position of its
// next frame.
bool takes_every_message(std::uint64_t capacity, std::uint32_t maximum,
                         std::uint32_t payload_offset) {
  static const FrameMemory memory(2 * kCapacityMax);
  FrameRing ring(memory.bytes().first(capacity), maximum, payload_offset);
  for (std::uint64_t place = 0; place < capacity; place += kFrameAlign) {
    if (ring.writer.claim(maximum) != FrameWriter::Room::kYes) return false;
    ring.writer.abort();
    ring.writer.claim(0);
    ring.writer.stage(0, 0);
    ring.writer.publish();
    Message message;
    if (ring.reader.look(ring.reader.position(), message) != FrameReader::Look::kMessage) {
      return false;
    }
    ring.reader.release(message.end, 1);
  }
  return true;
}

TEST_CASE("Creation refuses a capacity that is too small and names the minimum") {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  for (const std::uint32_t offset : kOffsets) {
    for (std::uint64_t capacity = kChannelCapacityMin; capacity <= kCapacityMax; capacity *= 2) {
      const std::uint64_t step = offset == kPayloadOffsetPacked ? stride() : 8 * stride() + 1;
      for_each_maximum(capacity, offset, step, [&](std::uint32_t maximum) {
        const absl::Status fits = check_channel_geometry(capacity, maximum, offset);
        const absl::Status created = create(capacity, maximum, offset);
        INFO(capacity << ' ' << maximum << ' ' << offset << ' ' << fits << ' ' << created);
        REQUIRE(fits == created);
        if (fits.ok()) {
          ++accepted;
          return;
        }
        ++refused;
        const std::uint64_t named = named_capacity(fits);
        REQUIRE(named > capacity);
        REQUIRE(check_channel_geometry(named, maximum, offset).ok());
        REQUIRE_FALSE(check_channel_geometry(named / 2, maximum, offset).ok());
        if (named <= 2 * kCapacityMax) {
          REQUIRE(takes_every_message(named, maximum, offset));
          REQUIRE_FALSE(takes_every_message(named / 2, maximum, offset));
        }
      });
    }
  }
  CHECK(accepted > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("A capacity that is out of bounds or not a power of two is refused with the minimum") {
  for (const std::uint64_t capacity :
       {std::uint64_t{1}, std::uint64_t{512}, std::uint64_t{1023}, std::uint64_t{1025},
        std::uint64_t{3000}, kChannelCapacityMax * 2, ~std::uint64_t{0}}) {
    const absl::Status refusal = check_channel_geometry(capacity, 1000, kPayloadOffsetPacked);
    INFO(refusal);
    CHECK(errc_of(refusal) == Errc::kInvalidArgument);
    CHECK(refusal.message().find("at least 2048 ") != absl::string_view::npos);
    CHECK(create(capacity, 1000, kPayloadOffsetPacked) == refusal);
  }
  CHECK(check_channel_geometry(2048, 1000, kPayloadOffsetPacked).ok());
  CHECK(errc_of(check_channel_geometry(kChannelCapacityMax, kMessageBytesMax + std::uint64_t{1},
                                       kPayloadOffsetPacked)) == Errc::kInvalidArgument);
  CHECK(check_channel_geometry(kChannelCapacityMax, kMessageBytesMax, kPayloadOffsetAligned).ok());
}

// --- Messages of random sizes through rings of every shape

// Message `number` of a run.
struct Sent {
  Sent(std::uint64_t seed, std::uint64_t number, std::uint32_t maximum)
      : key(mixed(seed + number)) {
    const std::uint64_t draw = mixed(key);
    type = static_cast<std::uint32_t>(draw);
    const std::uint64_t kind = draw >> 32 & 15;
    size = kind == 0 ? maximum : static_cast<std::uint32_t>((key >> 32) * (maximum + 1ULL) >> 32);
    place = size < 8 ? 0 : static_cast<std::size_t>((draw >> 36) % (size - 7));
  }

  std::uint64_t key;
  std::uint32_t size;
  std::uint32_t type;
  std::size_t place;  // a random position in its content
};

// Writes content at the front, the back and a random position, or everywhere.
void write(std::span<std::byte> payload, const Sent& sent, bool whole) {
  if (payload.size() < 8) {
    std::memcpy(payload.data(), &sent.key, payload.size());
    return;
  }
  for (std::size_t at = 0; whole && at + 8 <= payload.size(); at += 8) {
    put_content(payload, sent.key, at);
  }
  put_content(payload, sent.key, 0);
  put_content(payload, sent.key, sent.place);
  put_content(payload, sent.key, payload.size() - 8);
}

bool is_right(const Message& message, const Sent& sent, bool whole) {
  const std::span<const std::byte> payload = message.payload;
  if (payload.size() != sent.size || message.type != sent.type) return false;
  if (payload.size() < 8) return std::memcmp(payload.data(), &sent.key, payload.size()) == 0;
  for (std::size_t at = 0; whole && at + 8 <= payload.size(); at += 8) {
    if (!has_content(payload, sent.key, at)) return false;
  }
  return has_content(payload, sent.key, 0) && has_content(payload, sent.key, sent.place) &&
         has_content(payload, sent.key, payload.size() - 8);
}

// One ring and a run of messages through it: repeatedly filled completely, and drained completely
// or partly. Each time, messages are sent and received one at a time or in batches.
class Run {
 public:
  Run(std::span<std::byte> memory, std::uint32_t maximum, std::uint32_t payload_offset, bool whole)
      : ring_(memory, maximum, payload_offset),
        memory_(memory),
        maximum_(maximum),
        seed_(mixed(memory.size() << 32 | maximum)),
        whole_(whole),
        random_(seed_) {}

  // False if a wrong message arrived, or if the ring makes no progress.
  bool pass(std::uint64_t messages) {
    while (received_ < messages) {
      const std::uint64_t sent_before = sent_;
      const bool was_empty = sent_ == received_;
      if (!fill(random_.one_in(2))) return false;
      if (was_empty && sent_ == sent_before) return false;
      const bool all = random_.one_in(2);
      const std::uint64_t wanted = all ? sent_ - received_ : random_.below(sent_ - received_ + 1);
      if (!(random_.one_in(2) ? drain_batched(wanted) : drain(wanted))) return false;
      if (all && !is_empty()) return false;
    }
    return true;
  }

  std::uint64_t brims = 0;
  std::uint64_t drains = 0;

 private:
  bool fill(bool batched) {
    FrameWriter::Room room;
    for (;;) {
      const Sent sent(seed_, sent_, maximum_);
      room = ring_.writer.claim(sent.size);
      if (room != FrameWriter::Room::kYes) break;
      write(ring_.writer.payload(), sent, whole_);
      ring_.writer.stage(sent.size, sent.type);
      ++sent_;
      if (!batched || random_.one_in(kBatchMax)) ring_.writer.publish();
    }
    if (ring_.writer.has_staged()) ring_.writer.publish();
    ++brims;
    return room == FrameWriter::Room::kFull;
  }

  bool drain(std::uint64_t wanted) {
    for (; wanted > 0; --wanted) {
      Message message;
      if (!take(ring_.reader.position(), message)) return false;
      ring_.reader.release(message.end, 1);
    }
    return true;
  }

  bool drain_batched(std::uint64_t wanted) {
    while (wanted > 0) {
      const std::uint64_t count = 1 + random_.below(std::min<std::uint64_t>(wanted, kBatchMax));
      Message message;
      message.end = ring_.reader.position();
      for (std::uint64_t i = 0; i < count; ++i) {
        if (!take(message.end, message)) return false;
      }
      ring_.reader.release(message.end, count);
      wanted -= count;
    }
    return true;
  }

  bool take(ChannelPosition from, Message& message) {
    if (ring_.reader.look(from, message) != FrameReader::Look::kMessage) return false;
    const std::byte* const begin = message.payload.data();
    return begin >= memory_.data() &&
           begin + message.payload.size() <= memory_.data() + memory_.size() &&
           is_right(message, Sent(seed_, received_++, maximum_), whole_);
  }

  bool is_empty() {
    ++drains;
    Message message;
    return ring_.reader.look(ring_.reader.position(), message) == FrameReader::Look::kEmpty &&
           ring_.reader.messages() == sent_ && ring_.writer.messages() == sent_;
  }

  FrameRing ring_;
  std::span<std::byte> memory_;
  std::uint32_t maximum_;
  std::uint64_t seed_;
  bool whole_;
  Random random_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

// Tests every capacity with every `stride`th largest message. Returns the number of rings.
std::uint64_t pass_through_rings(std::uint32_t payload_offset, std::uint64_t stride,
                                 std::uint64_t messages, bool whole) {
  std::uint64_t rings = 0;
  for (std::uint64_t capacity = kChannelCapacityMin; capacity <= kCapacityMax; capacity *= 2) {
    const FrameMemory memory(capacity);
    for_each_maximum(capacity, payload_offset, stride, [&](std::uint32_t maximum) {
      if (!check_channel_geometry(capacity, maximum, payload_offset).ok()) return;
      Run run(memory.bytes(), maximum, payload_offset, whole);
      const bool passed = run.pass(messages);
      ++rings;
      if (passed && run.brims > 1 && run.drains > 1) return;
      INFO("capacity " << capacity << ", largest message " << maximum << ", payload offset "
                       << payload_offset);
      REQUIRE(passed);
      REQUIRE(run.brims > 1);
      REQUIRE(run.drains > 1);
    });
  }
  return rings;
}

TEST_CASE("Ten thousand messages pass through a ring of every capacity and largest message") {
  CHECK(pass_through_rings(kPayloadOffsetPacked, stride(), kMessagesPerRing, false) > 100);
}

// The same geometry with other payload offsets: an eighth of the rings.
TEST_CASE("Ten thousand messages pass where payloads begin elsewhere in the frame") {
  CHECK(pass_through_rings(kPayloadOffsetCalls, 8 * stride() + 1, kMessagesPerRing, false) > 20);
  CHECK(pass_through_rings(kPayloadOffsetAligned, 8 * stride() + 1, kMessagesPerRing, false) > 20);
}

TEST_CASE("Every byte of every message arrives as written") {
  for (const std::uint32_t offset : kOffsets) {
    CHECK(pass_through_rings(offset, 1024 * stride(), kMessagesPerRing / 2, true) > 7);
  }
}

// --- Rings that hold a fixed number of messages

struct FixedRing {
  std::uint64_t capacity;
  std::uint32_t maximum;
  std::uint32_t size;   // of every message
  std::uint64_t holds;  // messages
};

// Frames consist of a 16-byte head and `size` bytes, in 64-byte lines, and do not cross the end.
constexpr FixedRing kFixedRings[] = {
    {1024, 496, 496, 2},       // 8 of 16 lines: the largest message, no padding
    {1024, 496, 368, 2},       // 6 of 16 lines
    {1024, 432, 432, 2},       // 7 of 16 lines: the largest message, and padding
    {65536, 32752, 24000, 2},  // 376 of 1,024 lines
    {1024, 304, 304, 3},       // 5 of 16 lines
    {1024, 496, 257, 3},       // the same, in a ring for larger messages
    {4096, 2032, 1300, 3},     // 21 of 64 lines
    {65536, 2096, 2096, 31},   // 33 of 1,024 lines
    {65536, 32752, 2049, 31},  // the same, in a ring for larger messages
    {65536, 1968, 1968, 33},   // 31 of 1,024 lines
    {65536, 32752, 1930, 33},  // the same, in a ring for larger messages
};

std::uint64_t send_until_full(FrameRing& ring, std::uint32_t size, bool batched) {
  std::uint64_t sent = 0;
  while (ring.writer.claim(size) == FrameWriter::Room::kYes) {
    ring.writer.stage(size, 0);
    if (!batched) ring.writer.publish();
    ++sent;
  }
  if (ring.writer.has_staged()) ring.writer.publish();
  return sent;
}

std::uint64_t receive(FrameRing& ring, std::uint64_t count, bool batched) {
  Message message;
  message.end = ring.reader.position();
  std::uint64_t received = 0;
  while (received < count &&
         ring.reader.look(message.end, message) == FrameReader::Look::kMessage) {
    ++received;
    if (!batched) ring.reader.release(message.end, 1);
  }
  if (batched && received > 0) ring.reader.release(message.end, received);
  return received;
}

TEST_CASE("Rings of 2, 3, 31 and 33 messages hold exactly so many, in every lap") {
  for (const FixedRing& fixed : kFixedRings) {
    const FrameMemory memory(fixed.capacity);
    for (std::uint64_t taken = 1; taken <= fixed.holds; ++taken) {
      INFO(fixed.capacity << ' ' << fixed.maximum << ' ' << fixed.size << ' ' << taken);
      REQUIRE(check_channel_geometry(fixed.capacity, fixed.maximum, kPayloadOffsetPacked).ok());
      FrameRing ring(memory.bytes(), fixed.maximum, kPayloadOffsetPacked);
      REQUIRE(send_until_full(ring, fixed.size, false) == fixed.holds);
      for (int round = 0; round < 200; ++round) {
        REQUIRE(receive(ring, taken, round % 2 == 0) == taken);
        REQUIRE(send_until_full(ring, fixed.size, round % 3 == 0) == taken);
      }
      REQUIRE(receive(ring, fixed.holds + 1, true) == fixed.holds);
    }
  }
}

// --- An empty ring never refuses a message

// A small ring that is driven from state to state. Every state is empty, and they differ only in
// the position of the next frame.
class EmptyRing {
 public:
  EmptyRing(std::span<std::byte> memory, std::uint32_t payload_offset)
      : ring_(memory, largest_message(memory.size(), payload_offset), payload_offset),
        capacity_(memory.size()) {}

  FrameWriter& writer() { return ring_.writer; }
  std::uint64_t place() const { return ring_.writer.position() % capacity_; }

  void go_to(std::uint64_t wanted) {
    while (place() != wanted) {
      ring_.writer.claim(0);
      ring_.writer.stage(0, 0);
      ring_.writer.publish();
      drain();
    }
  }
  void drain() {
    if (ring_.writer.has_staged()) ring_.writer.publish();
    receive(ring_, capacity_, false);
  }
  bool is_empty() const { return ring_.reader.position() == ring_.writer.position(); }
  // Whether it accepts every size. The attempts leave no trace.
  bool takes_all_sizes() {
    const ChannelPosition before = ring_.writer.position();
    for (std::uint32_t size = 0; size <= ring_.writer.message_bytes_max(); ++size) {
      if (ring_.writer.claim(size) != FrameWriter::Room::kYes) return false;
      ring_.writer.abort();
    }
    return ring_.writer.position() == before;
  }

 private:
  FrameRing ring_;
  std::uint64_t capacity_;
};

struct SmallRing {
  std::uint64_t capacity;
  std::uint32_t offset;
};
constexpr SmallRing kSmallRings[] = {
    {1024, kPayloadOffsetPacked}, {1024, kPayloadOffsetCalls}, {1024, kPayloadOffsetAligned},
    {2048, kPayloadOffsetPacked}, {2048, kPayloadOffsetCalls}, {2048, kPayloadOffsetAligned},
    {4096, kPayloadOffsetPacked},
};

// Calls visit(ring, place, largest) for every position in every small ring. The sizes are those of
// whole frames.
template <typename Visit>
void for_each_place(const Visit& visit) {
  for (const SmallRing& small : kSmallRings) {
    const FrameMemory memory(small.capacity);
    EmptyRing ring(memory.bytes(), small.offset);
    for (std::uint64_t place = 0; place < small.capacity; place += kFrameAlign) {
      INFO("capacity " << small.capacity << ", payload offset " << small.offset << ", place "
                       << place);
      visit(ring, place, largest_message(small.capacity, small.offset));
    }
  }
}

TEST_CASE("An empty ring takes every message at once, wherever its next frame begins") {
  for_each_place([](EmptyRing& ring, std::uint64_t place, std::uint32_t) {
    ring.go_to(place);
    REQUIRE(ring.takes_all_sizes());
  });
}

TEST_CASE("After a commit of less than was claimed, an empty ring takes every message") {
  for_each_place([](EmptyRing& ring, std::uint64_t place, std::uint32_t largest) {
    for (std::uint32_t claimed = 0; claimed <= largest; claimed += kFrameAlign) {
      for (std::uint32_t actual = 0; actual <= claimed; actual += kFrameAlign) {
        ring.go_to(place);
        REQUIRE(ring.writer().claim(claimed) == FrameWriter::Room::kYes);
        ring.writer().stage(actual, 0);
        ring.drain();
        REQUIRE(ring.is_empty());
        REQUIRE(ring.writer().claim(largest) == FrameWriter::Room::kYes);
        REQUIRE(ring.writer().claim(0) == FrameWriter::Room::kYes);
        ring.writer().abort();
      }
    }
  });
}

TEST_CASE(
    "After a staged batch, whole or cut short by a full ring, an empty ring takes every message") {
  std::uint64_t cut_short = 0;
  for_each_place([&](EmptyRing& ring, std::uint64_t place, std::uint32_t largest) {
    for (std::uint32_t first = 0; first <= largest; first += kFrameAlign) {
      for (std::uint32_t second = 0; second <= largest; second += 3 * kFrameAlign) {
        ring.go_to(place);
        REQUIRE(ring.writer().claim(first) == FrameWriter::Room::kYes);
        ring.writer().stage(first, 0);
        while (ring.writer().claim(second) == FrameWriter::Room::kYes) {
          ring.writer().stage(second / 2, 0);
        }
        ++cut_short;
        ring.drain();
        REQUIRE(ring.is_empty());
        REQUIRE(ring.writer().claim(largest) == FrameWriter::Room::kYes);
        ring.writer().abort();
      }
    }
  });
  CHECK(cut_short > 10'000);
}

}  // namespace
}  // namespace lapwing
