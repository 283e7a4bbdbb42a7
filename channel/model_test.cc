// A channel compared with a plain queue: random operations on both, with a comparison of all
// observable properties after each.
//
// LAPWING_CHANNEL_OPERATIONS: the number of operations. LAPWING_TEST_SEED: set it to repeat a
// failed run.

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "testing/channel_fixture.h"
#include "testing/channel_frames.h"
#include "testing/environment.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kOperationsPerRing = 10'000;
constexpr std::size_t kBatchMax = 12;
constexpr Deadline kPast = Deadline::at_monotonic_ns(1);
constexpr std::uint32_t kOffsets[] = {kPayloadOffsetPacked, kPayloadOffsetAligned};

struct Geometry {
  std::uint64_t capacity;
  std::uint32_t maximum;
  std::uint32_t payload_offset;
};

using Bytes = std::vector<std::byte>;

// A message in the model.
struct Modelled {
  Bytes payload;
  std::uint32_t type = 0;
  ChannelPosition end = 0;  // of its frame
};

struct Counted {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t full_waits = 0;
  std::uint64_t empty_waits = 0;
};

// --- The tested object: both halves of the protocol, or both ends of an open channel.

// The bare halves of the protocol. This class implements what the ends add to them.
class BareEnds {
 public:
  static constexpr bool kIsChannel = false;

  explicit BareEnds(const Geometry& geometry)
      : memory_(geometry.capacity),
        ring_(memory_.bytes(), geometry.maximum, geometry.payload_offset) {}

  Result<std::span<std::byte>> claim(std::size_t size) {
    ring_.writer.abort();
    switch (ring_.writer.claim(static_cast<std::uint32_t>(size))) {
      case FrameWriter::Room::kYes:
        return ring_.writer.payload();
      case FrameWriter::Room::kFull:
        (void)commit_staged();
        return Errc::kWouldBlock;
      case FrameWriter::Room::kCorrupt:
        break;
    }
    return Errc::kCorrupt;
  }
  Result<> stage(std::size_t actual, std::uint32_t type) {
    ring_.writer.stage(static_cast<std::uint32_t>(actual), type);
    return Errc::kOk;
  }
  Result<> commit(std::size_t actual, std::uint32_t type) {
    ring_.writer.commit(static_cast<std::uint32_t>(actual), type);
    return Errc::kOk;
  }
  Result<> commit_staged() {
    if (ring_.writer.has_staged()) ring_.writer.publish();
    return Errc::kOk;
  }
  Result<> abort() {
    ring_.writer.abort();
    return Errc::kOk;
  }
  Result<std::size_t> peek_batch(std::span<Message> messages) {
    std::size_t count = 0;
    ChannelPosition from = ring_.reader.position();
    while (count < messages.size()) {
      const FrameReader::Look seen = ring_.reader.look(from, messages[count]);
      if (seen == FrameReader::Look::kCorrupt) return Errc::kCorrupt;
      if (seen == FrameReader::Look::kEmpty) break;
      from = messages[count++].end;
    }
    if (count == 0) return Errc::kWouldBlock;
    return count;
  }
  Result<> release(std::span<const Message> batch, std::size_t count) {
    ring_.reader.release(batch[count - 1].end, count);
    return Errc::kOk;
  }
  FrameRing& ring() { return ring_; }

 private:
  FrameMemory memory_;
  FrameRing ring_;
};

class ChannelEnds {
 public:
  static constexpr bool kIsChannel = true;

  explicit ChannelEnds(const Geometry& geometry)
      : pair_({.capacity = geometry.capacity,
               .message_bytes_max = geometry.maximum,
               .aligned_payloads = geometry.payload_offset == kPayloadOffsetAligned}) {}

  ChannelProducer& producer() { return pair_.producer(); }
  ChannelConsumer& consumer() { return pair_.consumer(); }

  Result<std::span<std::byte>> claim(std::size_t size) { return producer().try_claim(size); }
  Result<> stage(std::size_t actual, std::uint32_t type) { return producer().stage(actual, type); }
  Result<> commit(std::size_t actual, std::uint32_t type) {
    return producer().commit(actual, type);
  }
  Result<> commit_staged() { return producer().commit_staged(); }
  Result<> abort() { return producer().abort(); }
  Result<std::size_t> peek_batch(std::span<Message> messages) {
    return consumer().try_peek_batch(messages);
  }
  Result<> release(std::span<const Message> batch, std::size_t count) {
    return consumer().release(batch, count);
  }

 private:
  ChannelPair pair_;
};

// --- The machine that performs the same operations on both

// How often the interesting cases occurred.
struct Tally {
  std::uint64_t full = 0;
  std::uint64_t empty = 0;
  std::uint64_t wrapped = 0;
  std::uint64_t shrunk = 0;
  std::uint64_t aborted = 0;
  std::uint64_t staged_published = 0;
  std::uint64_t partly_released = 0;
  std::uint64_t misused = 0;
};

template <typename Ends>
class Machine {
 public:
  Machine(const Geometry& geometry, Random& random, Tally& tally)
      : geometry_(geometry),
        heads_(geometry.capacity),
        random_(random),
        tally_(tally),
        ends_(geometry) {}

  // Performs one operation. Returns nullptr, or the violated guarantee.
  const char* step() {
    if (random_.one_in(50)) leaning_ = random_.below(3);
    // 0: mostly sends, 1: mostly receives, 2: neither.
    const bool sends = leaning_ == 2 ? random_.one_in(2) : random_.one_in(4) == (leaning_ == 1);
    const char* fault = sends ? send_something() : receive_something();
    return fault != nullptr ? fault : check();
  }

 private:
  struct Claimed {
    std::span<std::byte> payload;
    ChannelPosition at;
    Bytes written;
  };

  const char* send_something() {
    switch (random_.below(Ends::kIsChannel ? 12 : 8)) {
      case 0:
      case 1:
        return claim();
      case 2:
      case 3:
        return claimed_ ? finish_claim(false) : claim();
      case 4:
      case 5:
        return claimed_ ? finish_claim(true) : claim();
      case 6:
        publish_model();
        return ends_.commit_staged().ok() ? nullptr : "commit_staged";
      case 7:
        return abort();
      default:
        if constexpr (Ends::kIsChannel) return random_.one_in(2) ? send() : misuse_producer();
        return nullptr;
    }
  }

  const char* receive_something() {
    switch (random_.below(Ends::kIsChannel ? 8 : 5)) {
      case 0:
      case 1:
        return peek(1 + random_.below(kBatchMax));
      case 2:
        return peek(1);
      case 3:
      case 4:
        return borrowed_ == 0 ? peek(1) : release(1 + random_.below(borrowed_));
      default:
        if constexpr (Ends::kIsChannel) return random_.one_in(2) ? receive() : misuse_consumer();
        return nullptr;
    }
  }

  // --- Sending

  std::uint64_t frame_bytes(std::size_t size) const {
    const std::size_t in_line =
        geometry_.payload_offset == kPayloadOffsetPacked ? 56 : 64 - geometry_.payload_offset;
    return size <= in_line ? 64 : (geometry_.payload_offset + size + 63) & ~std::uint64_t{63};
  }
  // The position of a frame of this size: after the last one, or at the beginning of the data.
  ChannelPosition place_for(std::size_t size) const {
    const ChannelPosition lap_end = (position_ / geometry_.capacity + 1) * geometry_.capacity;
    return position_ + frame_bytes(size) <= lap_end ? position_ : lap_end;
  }
  bool fits(std::size_t size) const {
    return place_for(size) + frame_bytes(size) - released_ <= geometry_.capacity;
  }
  std::size_t any_size() {
    if (random_.one_in(8)) return geometry_.maximum;
    if (random_.one_in(4)) return random_.below(std::min<std::uint64_t>(geometry_.maximum, 60) + 1);
    return random_.below(geometry_.maximum + 1);
  }

  const char* claim() {
    const std::size_t size = any_size();
    const auto got = ends_.claim(size);
    const bool was_empty = visible_.empty() && staged_.empty();
    claimed_.reset();
    if (!fits(size)) {
      publish_model();  // a full channel sends what is staged
      ++tally_.full;
      if (was_empty) return "an empty ring refuses a legal message";
      return got.error() == Errc::kWouldBlock ? nullptr : "there is no room for a claim";
    }
    if (!got.ok()) return "there is room for a claim";
    if (got->size() != size) return "a claim is as large as was asked for";
    if (!is_aligned(*got)) return "a claim is aligned as was asked for";
    claimed_ = {*got, place_for(size), {}};
    tally_.wrapped += claimed_->at != position_;
    scribble_into_claim();
    return nullptr;
  }

  // Writes random content, or content that imitates the heads of this lap or the next.
  void scribble(std::span<std::byte> payload, ChannelPosition begin) {
    const std::uint64_t kind = random_.below(3);
    const std::uint64_t key = random_.next();
    for (std::size_t i = 0; i < payload.size(); i += 8) {
      const ChannelPosition at = begin + i;
      std::uint64_t word = key + i;
      if (kind != 0 && at % kFrameAlign == 0) {
        const ChannelPosition imitated = kind == 1 ? at : at + geometry_.capacity;
        word = heads_.at(imitated, static_cast<FrameKind>(key & kHeadKindMask), key >> 4 & 63, 1);
      }
      std::memcpy(payload.data() + i, &word, std::min<std::size_t>(8, payload.size() - i));
    }
  }
  void scribble_into_claim() {
    scribble(claimed_->payload, claimed_->at + offset_of(claimed_->payload.size()));
    claimed_->written.assign(claimed_->payload.begin(), claimed_->payload.end());
  }

  std::uint32_t offset_of(std::size_t claimed) const {
    return payload_place(claimed, geometry_.payload_offset);
  }
  bool is_aligned(std::span<const std::byte> payload) const {
    return reinterpret_cast<std::uintptr_t>(payload.data()) % offset_of(payload.size()) == 0;
  }

  const char* finish_claim(bool hidden) {
    const std::size_t claimed = claimed_->payload.size();
    const std::size_t actual = random_.one_in(2) ? claimed : random_.below(claimed + 1);
    tally_.shrunk += actual != claimed;
    if (!std::ranges::equal(claimed_->written, claimed_->payload)) {
      return "what is written into a claim stays until it is committed";
    }
    if (random_.one_in(2)) scribble_into_claim();
    const auto type = static_cast<std::uint32_t>(random_.next());
    position_ = claimed_->at + committed_frame_bytes(claimed, actual, geometry_.payload_offset);
    staged_.push_back({Bytes(claimed_->payload.begin(),
                             claimed_->payload.begin() + static_cast<std::ptrdiff_t>(actual)),
                       type, position_});
    claimed_.reset();
    if (hidden) return ends_.stage(actual, type).ok() ? nullptr : "stage";
    publish_model();
    return ends_.commit(actual, type).ok() ? nullptr : "commit";
  }

  const char* abort() {
    if (!claimed_) return nullptr;
    claimed_.reset();
    ++tally_.aborted;
    return ends_.abort().ok() ? nullptr : "abort";
  }

  void publish_model() {
    tally_.staged_published += staged_.size() > 1;
    counted_.sent += staged_.size();
    for (Modelled& message : staged_) visible_.push_back(std::move(message));
    staged_.clear();
    visible_end_ = position_;
  }

  // --- Receiving

  const char* peek(std::size_t wanted) {
    const Result<std::size_t> batch = ends_.peek_batch(std::span(batch_).first(wanted));
    released_of_batch_ = 0;
    borrowed_ = std::min(wanted, visible_.size());
    if (borrowed_ == 0) {
      ++tally_.empty;
      return batch.error() == Errc::kWouldBlock ? nullptr : "there is nothing to peek";
    }
    if (!batch.ok()) return "there is something to peek";
    if (*batch != borrowed_) return "a batch has as many as are there";
    for (std::size_t i = 0; i < borrowed_; ++i) {
      if (!is_same(batch_[i], visible_[i])) return "what is peeked is what was sent";
    }
    return nullptr;
  }

  const char* release(std::size_t count) {
    const std::span<const Message> batch = std::span(batch_).subspan(released_of_batch_, borrowed_);
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_same(batch[i], visible_[i])) return "what is borrowed stays as it was";
    }
    if (!ends_.release(batch, count).ok()) return "release";
    tally_.partly_released += count != borrowed_;
    borrowed_ -= count;
    released_of_batch_ += count;
    for (; count > 0; --count) pop_model();
    return nullptr;
  }

  void pop_model() {
    released_ = visible_.front().end;
    visible_.pop_front();
    ++counted_.received;
  }

  static bool is_same(const Message& message, const Modelled& modelled) {
    return message.type == modelled.type && message.end == modelled.end &&
           is_same(message.payload, modelled.payload);
  }
  static bool is_same(std::span<const std::byte> got, const Bytes& sent) {
    return std::equal(got.begin(), got.end(), sent.begin(), sent.end());
  }

  // --- Operations that only channel ends have: copying forms, deadlines, and misuse

  const char* send() {
    Bytes payload(any_size());
    scribble(payload, random_.next() % 64);
    const auto type = static_cast<std::uint32_t>(random_.next());
    claimed_.reset();
    const bool has_room = fits(payload.size());
    if (!has_room) ++tally_.full;
    if (has_room) {
      position_ = place_for(payload.size()) + frame_bytes(payload.size());
      staged_.push_back({payload, type, position_});
    }
    publish_model();
    if (random_.one_in(2)) {
      const Result<> result = ends_.producer().try_send(payload, type);
      const Errc expected = has_room ? Errc::kOk : Errc::kWouldBlock;
      return result == expected ? nullptr : "try_send";
    }
    counted_.full_waits += !has_room;
    const Result<> result = ends_.producer().send(payload, type, kPast);
    const Errc expected = has_room ? Errc::kOk : Errc::kTimedOut;
    return result == expected ? nullptr : "send";
  }

  const char* receive() {
    Bytes buffer(random_.one_in(4) ? random_.below(geometry_.maximum + 1) : geometry_.maximum);
    const bool waits = random_.one_in(2);
    const Result<Received> got =
        waits ? ends_.consumer().receive(buffer, kPast) : ends_.consumer().try_receive(buffer);
    borrowed_ = 0;
    if (visible_.empty()) {
      ++tally_.empty;
      counted_.empty_waits += waits;
      return got.error() == (waits ? Errc::kTimedOut : Errc::kWouldBlock)
                 ? nullptr
                 : "there is nothing to receive";
    }
    const Modelled& next = visible_.front();
    if (next.payload.size() > buffer.size()) {
      ++tally_.misused;
      return got.error() == Errc::kTooSmall ? nullptr : "the buffer is too small";
    }
    if (!got.ok()) return "there is something to receive";
    if (got->type != next.type || !is_same(std::span(buffer).first(got->size), next.payload)) {
      return "what is received is what was sent";
    }
    pop_model();
    return nullptr;
  }

  const char* misuse_producer() {
    ++tally_.misused;
    ChannelProducer& producer = ends_.producer();
    if (random_.one_in(4)) {
      claimed_.reset();  // a refused claim also abandons the previous one
      const auto claim = producer.try_claim(geometry_.maximum + 1 + random_.below(1000));
      return claim.error() == Errc::kMisuse ? nullptr : "a claim above the maximum";
    }
    if (claimed_) {
      const std::size_t beyond = claimed_->payload.size() + 1 + random_.below(100);
      const Result<> result =
          random_.one_in(2) ? producer.commit(beyond, 0) : producer.stage(beyond, 0);
      return result.error() == Errc::kMisuse ? nullptr : "a commit of more than was claimed";
    }
    const std::uint64_t which = random_.below(3);
    const Result<> result = which == 0   ? producer.commit(0, 0)
                            : which == 1 ? producer.stage(0, 0)
                                         : producer.abort();
    return result.error() == Errc::kMisuse ? nullptr : "a commit or abort without a claim";
  }

  const char* misuse_consumer() {
    ++tally_.misused;
    ChannelConsumer& consumer = ends_.consumer();
    if (borrowed_ == 0 && random_.one_in(2)) {
      return consumer.release() == Errc::kMisuse ? nullptr : "a release of nothing";
    }
    if (released_of_batch_ != 0 && random_.one_in(2)) {
      const std::size_t again_count = 1 + random_.below(released_of_batch_ + borrowed_);
      const Result<> again = consumer.release(batch_, again_count);
      return again.error() == Errc::kMisuse ? nullptr : "a release of what was released";
    }
    const std::span<const Message> batch = std::span(batch_).subspan(released_of_batch_, borrowed_);
    const std::size_t count = random_.one_in(2) ? 0 : borrowed_ + 1;
    return consumer.release(batch, count) == Errc::kMisuse ? nullptr : "a release of others";
  }

  // --- After each operation

  const char* check() {
    if constexpr (Ends::kIsChannel) {
      return check_counters();
    } else {
      return check_frames();
    }
  }

  const char* check_counters() {
    const ChannelCounters sent = ends_.producer().counters();
    const ChannelCounters received = ends_.consumer().counters();
    if (sent.messages_sent != counted_.sent) return "sent messages are counted";
    if (received.messages_received != counted_.received) return "received messages are counted";
    if (sent.full_waits != counted_.full_waits) return "waits for room are counted";
    if (received.empty_waits != counted_.empty_waits) return "waits for a message are counted";
    return nullptr;
  }

  const char* check_frames() {
    FrameRing& ring = ends_.ring();
    const ChannelProgress& sent = ring.producer_words.sent;
    const ChannelProgress& received = ring.consumer_words.received;
    if (ring.writer.position() != position_) return "the producer's position";
    if (sent.position != visible_end_) return "what is said to be visible";
    if (ring.writer.has_staged() == staged_.empty()) return "what is staged";
    if (ring.writer.has_claim() != claimed_.has_value()) return "whether there is a claim";
    if (position_ > released_ + geometry_.capacity) return "no more than the ring holds";
    if (sent.messages != counted_.sent) return "sent messages are counted";
    if (ring.reader.position() != released_) return "the consumer's position";
    if (received.position != released_) return "what is said to be released";
    if (received.messages != counted_.received) return "received messages are counted";
    return check_visible(ring.reader);
  }

  // Checks that exactly the committed and unreleased messages are visible.
  const char* check_visible(const FrameReader& reader) {
    Message message;
    message.end = released_;
    for (const Modelled& modelled : visible_) {
      if (reader.look(message.end, message) != FrameReader::Look::kMessage) {
        return "what was committed is visible";
      }
      if (!is_same(message, modelled)) return "what is visible is what was committed";
    }
    return reader.look(message.end, message) == FrameReader::Look::kEmpty
               ? nullptr
               : "nothing is visible that was not committed";
  }

  Geometry geometry_;
  FrameHeads heads_;
  Random& random_;
  Tally& tally_;
  Ends ends_;
  std::uint64_t leaning_ = 2;

  std::deque<Modelled> visible_;
  std::deque<Modelled> staged_;
  std::optional<Claimed> claimed_;
  std::array<Message, kBatchMax> batch_;  // of the last peek
  std::size_t released_of_batch_ = 0;
  std::size_t borrowed_ = 0;
  ChannelPosition position_ = 0;     // of the next frame
  ChannelPosition visible_end_ = 0;  // of the first one that is not visible
  ChannelPosition released_ = 0;     // of the first unreleased one
  Counted counted_;
};

// Mostly small rings, which become full and empty often.
Geometry any_geometry(Random& random) {
  const std::uint64_t capacity = kChannelCapacityMin << random.below(4);
  const std::uint32_t offset = kOffsets[random.below(std::size(kOffsets))];
  const std::uint32_t largest = largest_message(capacity, offset);
  const bool extreme = random.one_in(4);
  return {capacity, extreme ? largest : 1 + static_cast<std::uint32_t>(random.below(largest)),
          offset};
}

template <typename Ends>
void run(std::uint64_t seed, std::uint64_t operations, Tally& tally) {
  Random random(seed);
  std::uint64_t done = 0;
  while (done < operations) {
    const Geometry geometry = any_geometry(random);
    Machine<Ends> machine(geometry, random, tally);
    for (std::uint64_t i = 0; i < kOperationsPerRing && done < operations; ++i, ++done) {
      const char* const broken = machine.step();
      if (broken == nullptr) continue;
      FAIL("broken: " << broken << "; seed " << seed << ", operation " << done << ", capacity "
                      << geometry.capacity << ", largest message " << geometry.maximum
                      << ", payload offset " << geometry.payload_offset);
    }
  }
}

std::array<std::uint64_t, 4> seeds() {
  const std::uint64_t last = test_seed();
  WARN("seed of the last run: " << last);
  return {1, 2, 3, last};
}

template <typename Ends>
Tally run_all(std::uint64_t operations) {
  Tally tally;
  const std::array<std::uint64_t, 4> all = seeds();
  for (const std::uint64_t seed : all) run<Ends>(seed, operations / all.size(), tally);
  return tally;
}

TEST_CASE("The frame protocol behaves like a plain queue in random operations") {
  const std::uint64_t count = channel_operations();
  const Tally tally = run_all<BareEnds>(count);
  for (const std::uint64_t happened :
       {tally.full, tally.empty, tally.wrapped, tally.shrunk, tally.aborted, tally.staged_published,
        tally.partly_released}) {
    CHECK(happened > count / 200);
  }
}

TEST_CASE("A channel behaves like a plain queue, and misuse does no harm") {
  const std::uint64_t count = channel_operations() / 4;
  const Tally tally = run_all<ChannelEnds>(count);
  for (const std::uint64_t happened :
       {tally.full, tally.empty, tally.wrapped, tally.shrunk, tally.aborted, tally.staged_published,
        tally.partly_released, tally.misused}) {
    CHECK(happened > count / 400);
  }
}

}  // namespace
}  // namespace lapwing
