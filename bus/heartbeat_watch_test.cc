#include "bus/heartbeat_watch.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

RingHeader header_of(std::uint64_t time_namespace) {
  RingHeader header{};
  header.publisher_time_namespace = time_namespace;
  return header;
}

TEST_CASE("In the same time namespace the age is the difference of the clocks") {
  const std::uint64_t own = GENERATE(std::uint64_t{0}, own_namespaces().time);
  RingWords words{};
  store_heartbeat(words, 100 * kSecond);
  HeartbeatWatch watch(header_of(own));
  CHECK(watch.age_ns(words, 107 * kSecond) == 7 * kSecond);
  CHECK(watch.age_ns(words, 100 * kSecond - 1) == 0);
}

TEST_CASE("In another time namespace the age is the time without a change") {
  const std::uint64_t beat_ns = GENERATE(1 * kSecond, 100 * kSecond, 5'000 * kSecond);
  RingWords words{};
  store_heartbeat(words, beat_ns);
  HeartbeatWatch watch(header_of(own_namespaces().time + 1));
  CHECK(watch.age_ns(words, 200 * kSecond) == 0);
  CHECK(watch.age_ns(words, 203 * kSecond) == 3 * kSecond);
  store_heartbeat(words, beat_ns + 1);
  CHECK(watch.age_ns(words, 204 * kSecond) == 0);
  CHECK(watch.age_ns(words, 209 * kSecond) == 5 * kSecond);
}

TEST_CASE("A heartbeat from the future gets old if it does not change") {
  RingWords words{};
  store_heartbeat(words, 1'000 * kSecond);
  HeartbeatWatch watch(header_of(0));
  CHECK(watch.age_ns(words, 10 * kSecond) == 0);
  CHECK(watch.age_ns(words, 14 * kSecond) == 4 * kSecond);
  CHECK(watch.is_measured_by_change(1'000 * kSecond, 14 * kSecond));
  CHECK_FALSE(watch.is_measured_by_change(14 * kSecond, 14 * kSecond));
}

TEST_CASE("The age in another time namespace is known after the first change") {
  RingWords words{};
  store_heartbeat(words, kSecond);
  HeartbeatWatch watch(header_of(own_namespaces().time + 1));
  for (const std::uint64_t now_ns : {10 * kSecond, 12 * kSecond}) {
    watch.age_ns(words, now_ns);
    CHECK_FALSE(watch.is_age_known(kSecond, now_ns));
  }
  store_heartbeat(words, 2 * kSecond);
  watch.age_ns(words, 13 * kSecond);
  CHECK(watch.is_age_known(2 * kSecond, 13 * kSecond));
  CHECK(HeartbeatWatch(header_of(0)).is_age_known(kSecond, 13 * kSecond));
}

}  // namespace
}  // namespace lapwing
