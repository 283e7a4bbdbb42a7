#include "bus/ring_reader.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "lapwing/detail/atomic_word.h"
#include "proto/slot_stamp.h"
#include "testing/ring_spec.h"

namespace lapwing {
namespace {

RingSpec spec_from(const std::string& directory, Sequence session_first) {
  RingSpec spec = test_spec(directory);
  spec.session_first = session_first;
  spec.ring_first = session_first;
  return spec;
}

// Leaves the stamp of `stamped` in the slot of `place`, which a correct publisher never does.
void misplace(TestRing& ring, Sequence place, Sequence stamped) {
  SlotForm::store_slot(ring.file.slot(place), stamped, record_of(stamped, 56).data(), 56);
}

TEST_CASE("A reader takes every record that was published, and then nothing") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  ring.publish(1, 10);
  for (Sequence n = 1; n <= 10; ++n) {
    REQUIRE(ring.read(n).outcome == RingRead::kRecord);
    CHECK(ring.copy_is(n));
  }
  CHECK(ring.read(11).outcome == RingRead::kEmpty);
}

TEST_CASE("On the first lap, every slot is empty until its record is published") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  for (Sequence n = 1; n <= capacity; ++n) {
    REQUIRE(ring.read(n).outcome == RingRead::kEmpty);
    ring.publish(n, n);
    REQUIRE(ring.read(n).outcome == RingRead::kRecord);
  }
  CHECK(ring.read(capacity + 1).outcome == RingRead::kEmpty);
}

TEST_CASE("On later laps, the record of the previous lap is not taken for the next") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  ring.publish(1, 3 * capacity);
  CHECK(ring.read(3 * capacity + 1).outcome == RingRead::kEmpty);
  CHECK(ring.read(4 * capacity).outcome == RingRead::kEmpty);
  REQUIRE(ring.read(2 * capacity + 1).outcome == RingRead::kRecord);
  CHECK(ring.copy_is(2 * capacity + 1));
}

TEST_CASE("A whole ring of records is readable, and not one more") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  ring.publish(1, capacity + 5);
  CHECK(ring.reader.oldest() == 6);
  CHECK(ring.read(6).outcome == RingRead::kRecord);
  CHECK(ring.read(5).outcome == RingRead::kLapped);
}

TEST_CASE("A lapped reader resumes an eighth of the ring after the oldest record") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  const Sequence head = GENERATE_COPY(capacity + 1, capacity + capacity / 2, 7 * capacity + 3);
  ring.publish(1, head);
  const RingReadResult lapped = ring.read(1);
  CHECK(lapped.outcome == RingRead::kLapped);
  CHECK(lapped.resume == head - capacity + capacity / 8);
  REQUIRE(ring.read(lapped.resume).outcome == RingRead::kRecord);
  CHECK(ring.copy_is(lapped.resume));
}

TEST_CASE("A record that is being overwritten is lapped, and at least the next one is tried") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  ring.publish(1, capacity);
  // Only W1 of capacity + 1: the publisher is in the middle of writing it.
  Word* const stamp = reinterpret_cast<Word*>(ring.file.slot(capacity + 1));
  detail::store(*stamp, writing_stamp(capacity + 1), std::memory_order_release);
  const RingReadResult lapped = ring.read(1);
  CHECK(lapped.outcome == RingRead::kLapped);
  CHECK(lapped.resume == capacity / 8);
  CHECK(ring.read(capacity + 1).outcome == RingRead::kEmpty);
}

TEST_CASE("A stamp that is ahead of head leads the resumption, within a batch") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  ring.publish(1, capacity);
  for (Sequence n = capacity + 1; n <= 2 * capacity; ++n) {  // one batch: head does not move
    store_record(ring.writer, n, record_of(n, 56).data());
  }
  const RingReadResult lapped = ring.read(capacity);
  CHECK(lapped.outcome == RingRead::kLapped);
  CHECK(lapped.resume == 2 * capacity - capacity + capacity / 8);
  REQUIRE(ring.read(lapped.resume).outcome == RingRead::kRecord);
  CHECK(ring.copy_is(lapped.resume));
}

TEST_CASE("Sequence 0 and sequences before the ring's first are settled without a slot") {
  const TestDirectory directory;
  TestRing ring(spec_from(directory.path(), 5001));
  for (const Sequence n : {Sequence{0}, Sequence{1}, Sequence{5000}}) {
    INFO("sequence " << n);
    const RingReadResult result = ring.read(n);
    CHECK(result.outcome == RingRead::kLapped);
    CHECK(result.resume == 5001);
    CHECK(ring.copy == std::vector<std::byte>(56, std::byte{0xee}));
  }
  CHECK(ring.read(5001).outcome == RingRead::kEmpty);
}

TEST_CASE("A position before the ring's first resumes behind the laps since then") {
  const TestDirectory directory;
  TestRing ring(spec_from(directory.path(), 5001));
  const std::uint64_t capacity = ring.reader.capacity();
  ring.publish(5001, 5000 + 2 * capacity);
  const RingReadResult result = ring.read(17);
  CHECK(result.outcome == RingRead::kLapped);
  CHECK(result.resume == 5000 + capacity + capacity / 8);
}

TEST_CASE("A stamp of another slot is corrupt, older or newer") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  ring.publish(1, 10);
  const Sequence stamped = GENERATE(as<Sequence>(), 6, 8, 9);
  misplace(ring, 7, stamped);
  const RingReadResult result = ring.read(7);
  CHECK(result.outcome == RingRead::kCorrupt);
  CHECK(result.stamp == ready_stamp(stamped));
}

TEST_CASE("A stamp more than a ring ahead of head is corrupt, one ring ahead is not") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  ring.publish(1, 10);
  misplace(ring, 10, 10 + capacity);
  CHECK(ring.read(10).outcome == RingRead::kLapped);
  misplace(ring, 9, 9 + 2 * capacity);
  const RingReadResult result = ring.read(9);
  CHECK(result.outcome == RingRead::kCorrupt);
  CHECK(result.stamp == ready_stamp(9 + 2 * capacity));
}

TEST_CASE("The same stamp is not corrupt once head is near it") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  ring.publish(1, 9 + 2 * capacity);
  CHECK(ring.read(9).outcome == RingRead::kLapped);
}

TEST_CASE("The last sequences that have a stamp are published and read") {
  const TestDirectory directory;
  const Sequence first = kSequenceMax - 3000;
  TestRing ring(spec_from(directory.path(), first));
  const std::uint64_t capacity = ring.reader.capacity();
  ring.publish(first, kSequenceMax);
  CHECK(ring.reader.oldest() == kSequenceMax - capacity + 1);
  REQUIRE(ring.read(kSequenceMax).outcome == RingRead::kRecord);
  CHECK(ring.copy_is(kSequenceMax));
  const RingReadResult lapped = ring.read(first);
  CHECK(lapped.outcome == RingRead::kLapped);
  CHECK(lapped.resume == kSequenceMax - capacity + capacity / 8);
}

TEST_CASE("Every record size goes through a ring and back") {
  const TestDirectory directory;
  const std::uint32_t record_bytes = GENERATE(as<std::uint32_t>(), 8, 9, 15, 16, 48, 56, 80, 4088);
  INFO("records of " << record_bytes);
  TestRing ring(test_spec(directory.path(), record_bytes));
  const Sequence last = 2 * ring.reader.capacity() + 3;
  for (Sequence n = 1; n <= last; ++n) {
    ring.publish(n, n);
    REQUIRE(ring.read(n).outcome == RingRead::kRecord);
    REQUIRE(ring.copy_is(n));
  }
}

// The copies of a run. No copy contains a record before the run wrote it.
struct Run {
  Run(const TestRing& ring, Sequence from, std::uint64_t room, Sequence head = 0)
      : first(from),
        record_bytes(ring.reader.record_bytes()),
        copies(room * record_bytes, std::byte{0xee}),
        seen_head(head),
        result(ring.reader.read_run(first, copies.data(), room, seen_head)) {}

  // Returns whether the counted copies are records first, first + 1, …
  bool is_whole() const {
    for (std::uint64_t i = 0; i < result.records; ++i) {
      const auto begin = copies.begin() + static_cast<std::ptrdiff_t>(i * record_bytes);
      const std::vector<std::byte> expected = record_of(first + i, record_bytes);
      if (!std::equal(expected.begin(), expected.end(), begin)) return false;
    }
    return true;
  }

  Sequence first;
  std::size_t record_bytes;
  std::vector<std::byte> copies;
  Sequence seen_head;
  RingRun result;
};

TEST_CASE("A run takes the available records, end to end, and returns why it ended") {
  const TestDirectory directory;
  const std::uint32_t record_bytes = GENERATE(8u, 56u, 80u, 100u);
  TestRing ring(test_spec(directory.path(), record_bytes));
  ring.publish(1, 40);
  for (const std::uint64_t room : {std::uint64_t{1}, std::uint64_t{17}, std::uint64_t{38}}) {
    const Run filled(ring, 3, room);
    CHECK(filled.result.records == room);
    CHECK(filled.result.end.outcome == RingRead::kRecord);
    CHECK(filled.is_whole());
  }
  const Run to_the_end(ring, 3, 50);
  CHECK(to_the_end.result.records == 38);
  CHECK(to_the_end.result.end.outcome == RingRead::kEmpty);
  CHECK(to_the_end.is_whole());
  CHECK(Run(ring, 41, 5).result.records == 0);
  CHECK(Run(ring, 41, 0).result.end.outcome == RingRead::kRecord);
}

TEST_CASE("A run over the ring's end and past overwritten records ends like single reads") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  ring.publish(1, capacity + capacity / 2);
  const Run around(ring, capacity - 5, 11);
  CHECK(around.result.records == 11);
  CHECK(around.is_whole());
  const Run lapped(ring, capacity / 2, 5);
  CHECK(lapped.result.records == 0);
  CHECK(lapped.result.end.outcome == RingRead::kLapped);
  CHECK(lapped.result.end.resume == ring.read(capacity / 2).resume);
  misplace(ring, capacity + 3, capacity + 4);
  const Run damaged(ring, capacity - 2, 11);
  CHECK(damaged.result.records == 5);
  CHECK(damaged.result.end.outcome == RingRead::kCorrupt);
}

TEST_CASE("A run below the ring's first record is lapped, whatever the slots contain") {
  const TestDirectory directory;
  TestRing ring(spec_from(directory.path(), 1000));
  ring.publish(1000, 1010);
  for (const Sequence first : {Sequence{0}, Sequence{1}, Sequence{999}}) {
    const Run below(ring, first, 5);
    CHECK(below.result.records == 0);
    CHECK(below.result.end.outcome == RingRead::kLapped);
    CHECK(below.result.end.resume == 1000);
  }
}

TEST_CASE("Only a long run reads head, and it remembers head") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  ring.publish(1, 3 * kReadAheadSlots);
  CHECK(Run(ring, 1, kRunMin).seen_head == 0);
  const Run longer(ring, 1, kRunMin + 1);
  CHECK(longer.seen_head == 3 * kReadAheadSlots);
  CHECK(longer.is_whole());
  const Run ahead(ring, 1, 3 * kReadAheadSlots, 2 * kReadAheadSlots);
  CHECK(ahead.result.records == 3 * kReadAheadSlots);
  CHECK(ahead.is_whole());
}

TEST_CASE("has() is true for a record once it is published, even after it is overwritten") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  CHECK_FALSE(ring.reader.has(1));
  ring.publish(1, 1);
  CHECK(ring.reader.has(1));
  CHECK_FALSE(ring.reader.has(2));
  CHECK_FALSE(ring.reader.has(capacity + 1));
  ring.publish(2, capacity + 1);
  CHECK(ring.reader.has(1));
  CHECK(ring.reader.has(capacity + 1));
}

}  // namespace
}  // namespace lapwing
