#include "relay/out/beats.h"

#include <catch2/catch.hpp>

namespace lapwing {

TEST_CASE("A beat is due at once, then every 250 ms") {
  Beats beats;
  CHECK(beats.is_due(0, 0, 1));
  beats.sent(1);
  CHECK_FALSE(beats.is_due(0, 0, kBeatNs));
  CHECK(beats.next_look_ns(2) == 1 + kBeatNs);
  CHECK(beats.is_due(0, 0, 1 + kBeatNs));
}

TEST_CASE("A beat is due at once, and once, when durable reaches head") {
  Beats beats;
  beats.sent(1);
  CHECK_FALSE(beats.is_due(10, 4, 2));
  CHECK_FALSE(beats.is_due(10, 9, 3));
  CHECK(beats.is_due(10, 10, 4));
  beats.sent(4);
  CHECK_FALSE(beats.is_due(10, 10, 5));
}

TEST_CASE("While durable is behind it is polled, less and less often until head moves") {
  Beats beats;
  beats.sent(1);
  CHECK_FALSE(beats.is_due(10, 4, 2));
  const std::uint64_t first_ns = beats.next_look_ns(2) - 2;
  const std::uint64_t second_ns = beats.next_look_ns(2) - 2;
  CHECK(second_ns == 2 * first_ns);
  for (int i = 0; i < 20; ++i) beats.next_look_ns(2);
  CHECK(beats.next_look_ns(2) == 1 + kBeatNs);
  CHECK_FALSE(beats.is_due(11, 4, 2));
  CHECK(beats.next_look_ns(2) - 2 == first_ns);
}

}  // namespace lapwing
