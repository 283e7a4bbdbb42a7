#include "publisher/mirror/origin_state.h"

#include <catch2/catch.hpp>

namespace lapwing {

TEST_CASE("The durable of an origin never decreases") {
  OriginState origin({});
  origin.raise_durable(10);
  origin.raise_durable(5);
  CHECK(origin.durable() == 10);
}

TEST_CASE("A sequence has the time of the range that contains it") {
  OriginState origin({});
  CHECK(origin.published_wall_ns(1) == 0);
  origin.note_time(10, 100);
  origin.note_time(20, 200);
  origin.note_time(20, 999);  // given again
  origin.note_time(30, 150);  // the origin's clock was set back
  CHECK(origin.published_wall_ns(5) == 100);
  CHECK(origin.published_wall_ns(10) == 100);
  CHECK(origin.published_wall_ns(11) == 200);
  CHECK(origin.published_wall_ns(30) == 200);
  CHECK(origin.published_wall_ns(31) == 200);
  origin.note_time(40, 50);
  CHECK(origin.published_wall_ns(40) == 200);
}

TEST_CASE("If too many ranges wait, neighbours are merged, with the later time") {
  OriginState origin({});
  for (std::uint64_t i = 1; i <= kOriginTimesMax + 2; ++i) origin.note_time(i, 10 * i);
  CHECK(origin.published_wall_ns(1) == 10);
  CHECK(origin.published_wall_ns(kOriginTimesMax - 1) == 10 * (kOriginTimesMax - 1));
  CHECK(origin.published_wall_ns(kOriginTimesMax) == 10 * (kOriginTimesMax + 2));
}

TEST_CASE("Only recorded ranges are absent") {
  const OriginState origin({{5, 64, GapCause::kPruned}, {129, 192, GapCause::kDamaged}});
  for (const Sequence n : {4u, 65u, 128u, 193u}) CHECK_FALSE(origin.is_absent(n));
  for (const Sequence n : {5u, 64u, 129u, 192u}) CHECK(origin.is_absent(n));
}

}  // namespace lapwing
