// Payloads that look like frames are never taken for frames. Here every word that a head may later
// occupy contains exactly the head that is expected there.

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <new>

#include "testing/channel_frames.h"

namespace lapwing {
namespace {

// A ring in which every payload imitates the heads of its own lap, or of a later one.
class Impostor {
 public:
  Impostor(std::uint64_t capacity, std::uint32_t payload_offset, std::uint64_t laps_ahead)
      : memory_(capacity),
        payload_offset_(payload_offset),
        ahead_(laps_ahead * capacity),
        heads_(capacity),
        ring_(memory_.bytes(), largest_message(capacity, payload_offset), payload_offset) {}

  std::uint64_t place() const { return ring_.writer.position() % memory_.bytes().size(); }

  bool claim(std::uint32_t size) {
    if (ring_.writer.claim(size) != FrameWriter::Room::kYes) return false;
    const std::uint64_t to_end = memory_.bytes().size() - place();
    const bool wraps = message_frame_bytes(size, payload_offset_) > to_end;
    claim_at_ = ring_.writer.position() + (wraps ? to_end : 0);
    claimed_ = size;
    write();
    return true;
  }
  // Writes the payload of the claim again. Returns whether it was still there.
  bool write_again() {
    const bool was_there = is_imitation(ring_.writer.payload(), claim_begin());
    write();
    return was_there;
  }
  void abort() { ring_.writer.abort(); }
  // Passes messages of that size, without content, up to about that position.
  bool skip_to(ChannelPosition position, std::uint32_t size) {
    Message message;
    while (ring_.writer.position() < position) {
      if (ring_.writer.claim(size) != FrameWriter::Room::kYes) return false;
      ring_.writer.commit(size, 0);
      if (ring_.reader.look(ring_.reader.position(), message) != FrameReader::Look::kMessage) {
        return false;
      }
      ring_.reader.release(message.end, 1);
    }
    return true;
  }

  void stage(std::uint32_t actual, std::uint32_t type) {
    count_imitation(actual);
    begins_.push_back(claim_begin());
    ring_.writer.stage(actual, type);
  }
  // stage() and publish() as one operation.
  void commit(std::uint32_t actual, std::uint32_t type) {
    count_imitation(actual);
    begins_.push_back(claim_begin());
    ring_.writer.commit(actual, type);
  }
  void publish() { ring_.writer.publish(); }

  // Whether exactly `count` messages of this size, with types from first_type on, are available.
  bool delivers(std::uint32_t count, std::uint32_t size, std::uint32_t first_type) {
    Message message;
    message.end = ring_.reader.position();
    for (std::uint32_t i = 0; i < count; ++i) {
      if (ring_.reader.look(message.end, message) != FrameReader::Look::kMessage) return false;
      if (message.payload.size() != size || message.type != first_type + i) return false;
      if (begins_.empty() || !is_imitation(message.payload, begins_.front())) return false;
      begins_.pop_front();
    }
    const bool is_all = delivers_nothing(message.end);
    ring_.reader.release(message.end, count);
    return is_all && message.end == ring_.writer.position();
  }
  bool delivers_nothing() { return delivers_nothing(ring_.reader.position()); }

  // Passes one message after another, for more than a lap.
  bool delivers_a_lap(std::uint32_t size) {
    for (std::uint64_t passed = 0; passed <= 2 * memory_.bytes().size(); passed += kFrameAlign) {
      if (!claim(size)) return false;
      stage(size, 7);
      if (!delivers_nothing()) return false;
      publish();
      if (!delivers(1, size, 7)) return false;
    }
    return true;
  }

  std::uint64_t imitated = 0;  // positions that already had the next expected head

 private:
  // For the byte position at which the head is expected.
  Word word_at(ChannelPosition at) const {
    return heads_.at(at + ahead_, FrameKind::kShort, 0, static_cast<std::uint32_t>(at));
  }
  ChannelPosition claim_begin() const {
    return claim_at_ + payload_place(claimed_, payload_offset_);
  }
  void write() {
    const std::span<std::byte> payload = ring_.writer.payload();
    for (std::size_t i = 0; i + 8 <= payload.size(); i += 8) {
      const Word word = word_at(claim_begin() + i);
      std::memcpy(payload.data() + i, &word, sizeof word);
    }
  }
  bool is_imitation(std::span<const std::byte> payload, ChannelPosition begin) const {
    for (std::size_t i = 0; i + 8 <= payload.size(); i += 8) {
      const Word word = word_at(begin + i);
      if (std::memcmp(payload.data() + i, &word, sizeof word) != 0) return false;
    }
    return true;
  }
  void count_imitation(std::uint32_t actual) {
    const ChannelPosition next =
        claim_at_ + committed_frame_bytes(claimed_, actual, payload_offset_);
    const std::byte* const head = memory_.bytes().data() + next % memory_.bytes().size();
    imitated += heads_.is_at(load_frame_head(head), next);
  }
  bool delivers_nothing(ChannelPosition from) const {
    Message message;
    return ring_.reader.look(from, message) == FrameReader::Look::kEmpty;
  }

  FrameMemory memory_;
  std::uint32_t payload_offset_;
  std::uint64_t ahead_;
  FrameHeads heads_;
  FrameRing ring_;
  ChannelPosition claim_at_ = 0;
  std::uint32_t claimed_ = 0;
  std::deque<ChannelPosition> begins_;  // of the payloads that have not been delivered yet
};

// Calls visit(impostor, largest) for every position in rings with both kinds of payload, with heads
// of this lap and the next.
template <typename Visit>
void for_each_place(std::uint64_t capacity, const Visit& visit) {
  for (const std::uint32_t offset : {kPayloadOffsetPacked, kPayloadOffsetAligned}) {
    std::uint64_t imitated = 0;
    for (std::uint64_t laps_ahead = 0; laps_ahead < 2; ++laps_ahead) {
      Impostor impostor(capacity, offset, laps_ahead);
      for (std::uint64_t place = 0; place < capacity; place += kFrameAlign) {
        while (impostor.place() != place) {
          REQUIRE(impostor.claim(0));
          impostor.stage(0, 0);
          impostor.publish();
          REQUIRE(impostor.delivers(1, 0, 0));
        }
        INFO("payload offset " << offset << ", place " << place << ", laps ahead " << laps_ahead);
        visit(impostor, largest_message(capacity, offset));
      }
      imitated += impostor.imitated;
    }
    CHECK(imitated > capacity / kFrameAlign);
  }
}

TEST_CASE("The rest of a claim after a shorter commit is not taken for a frame") {
  for_each_place(2048, [](Impostor& impostor, std::uint32_t largest) {
    for (std::uint32_t claimed = 0; claimed <= largest; claimed += 40) {
      for (std::uint32_t actual = 0; actual <= claimed; actual += 40) {
        REQUIRE(impostor.claim(claimed));
        impostor.stage(actual, 1);
        REQUIRE(impostor.delivers_nothing());
        impostor.publish();
        REQUIRE(impostor.delivers(1, actual, 1));
      }
    }
  });
}

TEST_CASE("The rest of an aborted claim is not taken for a frame") {
  for_each_place(1024, [](Impostor& impostor, std::uint32_t largest) {
    for (std::uint32_t given_up = 0; given_up <= largest; given_up += kFrameAlign) {
      REQUIRE(impostor.claim(given_up));
      impostor.abort();
      REQUIRE(impostor.delivers_nothing());
      for (std::uint32_t size = 0; size <= largest / 2; size += kFrameAlign) {
        REQUIRE(impostor.claim(size));
        impostor.stage(size, 1);
        impostor.publish();
        REQUIRE(impostor.delivers(1, size, 1));
      }
    }
  });
}

TEST_CASE("Payloads of an earlier lap are not taken for frames of a later one") {
  for_each_place(1024, [](Impostor& impostor, std::uint32_t largest) {
    for (std::uint32_t size = 0; size <= largest; size += 20) {
      REQUIRE(impostor.claim(largest));
      impostor.stage(largest, 1);
      impostor.publish();
      REQUIRE(impostor.delivers(1, largest, 1));
      REQUIRE(impostor.delivers_a_lap(size));
    }
  });
}

TEST_CASE("A staged batch is not visible before it is published, whatever its payloads") {
  for_each_place(1024, [](Impostor& impostor, std::uint32_t largest) {
    for (std::uint32_t size = 0; size <= largest; size += kFrameAlign) {
      std::uint32_t count = 0;
      while (impostor.claim(size)) {
        impostor.stage(size, 100 + count++);
        REQUIRE(impostor.delivers_nothing());
      }
      REQUIRE(count > 0);
      impostor.publish();
      REQUIRE(impostor.delivers(count, size, 100));
    }
  });
}

TEST_CASE("A claim that is open while others are published is not taken for a frame") {
  for_each_place(1024, [](Impostor& impostor, std::uint32_t largest) {
    for (std::uint32_t claimed = 0; claimed <= largest / 2; claimed += 8) {
      for (std::uint32_t actual = 0; actual <= claimed; actual += 8) {
        REQUIRE(impostor.claim(0));
        impostor.stage(0, 1);
        REQUIRE(impostor.claim(claimed));
        impostor.publish();
        REQUIRE(impostor.delivers(1, 0, 1));
        REQUIRE(impostor.write_again());
        impostor.commit(actual, 2);
        REQUIRE(impostor.delivers(1, actual, 2));
      }
    }
  });
}

TEST_CASE("The rest of a longer claim after a short message is not taken for a frame") {
  for_each_place(1024, [](Impostor& impostor, std::uint32_t largest) {
    for (std::uint32_t given_up = 0; given_up <= largest; given_up += 40) {
      for (const std::uint32_t size : {0u, 16u, 32u}) {
        REQUIRE(impostor.claim(size));
        impostor.commit(size, 1);
        REQUIRE(impostor.claim(given_up));
        impostor.abort();
        REQUIRE(impostor.claim(size));
        impostor.commit(size, 2);
        REQUIRE(impostor.delivers(2, size, 1));
      }
    }
  });
}

TEST_CASE("Frames of different laps are distinguished when the lap number wraps") {
  constexpr std::uint64_t kCapacity = 1024;
  constexpr ChannelPosition kLapZero = kCapacity * ((std::uint64_t{1} << 22) - 1);
  const std::uint32_t largest = largest_message(kCapacity, kPayloadOffsetPacked);
  for (std::uint64_t laps_ahead = 0; laps_ahead < 2; ++laps_ahead) {
    Impostor impostor(kCapacity, kPayloadOffsetPacked, laps_ahead);
    REQUIRE(impostor.skip_to(kLapZero - 4 * kCapacity, largest));
    for (std::uint32_t type = 0; type < 200; ++type) {  // for some ten laps
      const std::uint32_t size = type % 3 == 0 ? largest - type : type % 57;
      INFO("message " << type << " of " << size << " bytes, laps ahead " << laps_ahead);
      REQUIRE(impostor.claim(size));
      REQUIRE(impostor.delivers_nothing());
      impostor.commit(size, type);
      REQUIRE(impostor.delivers(1, size, type));
      REQUIRE(impostor.delivers_nothing());
    }
  }
}

// Like a user's own type: a compiler may move its stores after loads of other types.
struct TwoNumbers {
  int quotient;
  int constant;
};
#if defined(__clang__)
[[gnu::noinline]]
#else
[[gnu::noipa]]
#endif
bool stage_quotient(FrameWriter& writer, int dividend, int divisor) {
  if (writer.claim(sizeof(TwoNumbers)) != FrameWriter::Room::kYes) return false;
  auto* const numbers = new (writer.payload().data()) TwoNumbers;
  numbers->constant = 7;
  numbers->quotient = dividend / divisor;
  writer.stage(sizeof(TwoNumbers), 1);
  return true;
}

TEST_CASE("A short payload is sent as it was written, whatever its type") {
  const FrameMemory memory(kChannelCapacityMin);
  FrameRing ring(memory.bytes(), 256, kPayloadOffsetPacked);
  REQUIRE(stage_quotient(ring.writer, 84, 2));
  ring.writer.publish();
  Message message;
  REQUIRE(ring.reader.look(0, message) == FrameReader::Look::kMessage);
  TwoNumbers numbers{};
  REQUIRE(message.payload.size() == sizeof numbers);
  std::memcpy(&numbers, message.payload.data(), sizeof numbers);
  CHECK(numbers.quotient == 42);
  CHECK(numbers.constant == 7);
}

}  // namespace
}  // namespace lapwing
