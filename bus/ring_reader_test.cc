#include "bus/ring_reader.h"

#include <catch2/catch.hpp>

#include "bus/test_ring.h"

namespace lapwing {
namespace {

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

TEST_CASE("A reader that is lapped resumes an eighth of the ring behind the oldest") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  const std::uint64_t capacity = ring.reader.capacity();
  ring.publish(1, capacity + 1);
  const RingReadResult lapped = ring.read(1);
  CHECK(lapped.outcome == RingRead::kLapped);
  CHECK(lapped.resume == capacity / 8 + 1);
  REQUIRE(ring.read(lapped.resume).outcome == RingRead::kRecord);
  CHECK(ring.copy_is(lapped.resume));
}

}  // namespace
}  // namespace lapwing
