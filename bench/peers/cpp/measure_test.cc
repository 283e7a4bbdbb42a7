#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "bench/peers/cpp/histogram.h"
#include "bench/peers/cpp/numbered_record.h"
#include "bench/peers/cpp/report.h"
#include "bench/peers/cpp/silences.h"

namespace lapwing::peers {
namespace {

std::vector<std::uint64_t> record_of(std::uint64_t number, std::size_t words) {
  std::vector<std::uint64_t> record(words);
  fill(record.data(), words, number);
  return record;
}

TEST_CASE("a record of two records is torn, wherever the seam is") {
  for (const std::size_t words : {2U, 4U, 5U, 7U, 8U}) {
    const auto newer = record_of(100 + (std::uint64_t{1} << 20), words);
    for (std::size_t seam = 1; seam < words; ++seam) {
      auto record = record_of(100, words);
      REQUIRE(is_whole(record.data(), words));
      std::copy(newer.begin(), newer.begin() + static_cast<std::ptrdiff_t>(seam), record.begin());
      REQUIRE_FALSE(is_whole(record.data(), words));
      Arrivals arrivals(words);
      arrivals.add(record.data());
      REQUIRE(arrivals.torn() == 1);
      REQUIRE(arrivals.received() == 1);
    }
  }
}

TEST_CASE("words of one record in another order are torn") {
  auto record = record_of(7, 7);
  std::swap(record[2], record[3]);
  REQUIRE_FALSE(is_whole(record.data(), 7));
}

TEST_CASE("gaps are lost, and what comes twice or late is out of order") {
  Arrivals arrivals(7);
  for (const std::uint64_t number : {1U, 2U, 5U, 5U, 4U, 6U}) {
    arrivals.add(record_of(number, 7).data());
  }
  REQUIRE(arrivals.received() == 6);
  REQUIRE(arrivals.out_of_order() == 2);
  REQUIRE(arrivals.last() == 6);
  REQUIRE(arrivals.torn() == 0);
  REQUIRE(arrivals.lost(6) == 2);   // 3 and 4
  REQUIRE(arrivals.lost(10) == 6);  // and 7 to 10 did not arrive
}

TEST_CASE("a torn record is not lost as well") {
  Arrivals arrivals(7);
  auto record = record_of(2, 7);
  record[6] ^= 1;
  arrivals.add(record_of(1, 7).data());
  arrivals.add(record.data());
  arrivals.add(record_of(3, 7).data());
  REQUIRE(arrivals.torn() == 1);
  REQUIRE(arrivals.lost(3) == 0);
}

TEST_CASE("a reader that begins to count later has lost nothing of what was before") {
  Arrivals arrivals(7, 100);
  for (const std::uint64_t number : {99U, 101U, 104U}) {
    arrivals.add(record_of(number, 7).data());
  }
  REQUIRE(arrivals.received() == 3);
  REQUIRE(arrivals.out_of_order() == 1);  // 99 is an earlier record
  REQUIRE(arrivals.lost(4) == 2);         // 102 and 103
}

TEST_CASE("the longest silence is between two sounds, however long the first took to come") {
  Silences silences(1000);
  silences.add_sound(9000);
  REQUIRE(silences.longest_ns() == 0);
  for (const std::uint64_t now_ns : {9100U, 9600U, 9700U}) silences.add_sound(now_ns);
  REQUIRE(silences.longest_ns() == 500);
  silences.end(9900);
  REQUIRE(silences.longest_ns() == 500);
}

TEST_CASE("a silence that lasts until the end counts, and so does one of which nothing was heard") {
  Silences broken_off(1000);
  broken_off.add_sound(2000);
  broken_off.end(5000);
  REQUIRE(broken_off.longest_ns() == 3000);
  Silences never_begun(1000);
  never_begun.end(5000);
  REQUIRE(never_begun.longest_ns() == 4000);
}

TEST_CASE("a percentile never flatters, nor exaggerates by more than a 64th") {
  for (std::uint64_t duration_ns = 1; duration_ns < std::uint64_t{1} << 62; duration_ns *= 3) {
    for (const std::uint64_t exact : {duration_ns - 1, duration_ns, duration_ns + 1}) {
      Histogram ns;
      ns.add(exact);
      ns.add(~std::uint64_t{0});
      REQUIRE(ns.percentile_ns(0.5) >= exact);
      REQUIRE(ns.percentile_ns(0.5) - exact <= exact / 64);
      REQUIRE(ns.max_ns() == ~std::uint64_t{0});
    }
  }
}

TEST_CASE("percentiles are of the rank that they name") {
  Histogram ns;
  for (std::uint64_t duration_ns = 1; duration_ns <= 100; ++duration_ns) ns.add(duration_ns);
  REQUIRE(ns.percentile_ns(0.5) == 50);
  REQUIRE(ns.percentile_ns(0.9) == 90);
  REQUIRE(ns.percentile_ns(0.99) == 99);
  REQUIRE(ns.percentile_ns(0.999) == 100);
  REQUIRE(ns.max_ns() == 100);
}

TEST_CASE("a percentile is not above the maximum") {
  Histogram ns;
  ns.add(1'000'000);
  REQUIRE(ns.percentile_ns(0.999) == 1'000'000);
}

}  // namespace
}  // namespace lapwing::peers
