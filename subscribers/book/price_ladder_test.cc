#include "lapwing/detail/price_ladder.h"

#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <random>

#include "testing/environment.h"

namespace lapwing {
namespace {

void check_same(const PriceLadder& ladder, const std::map<std::int64_t, std::uint32_t>& naive) {
  REQUIRE(ladder.size() == naive.size());
  std::size_t index = 0;
  for (auto rung = naive.rbegin(); rung != naive.rend(); ++rung, ++index) {
    REQUIRE(ladder[index].rank == rung->first);
    REQUIRE(ladder[index].level == rung->second);
  }
}

TEST_CASE("a ladder contains what a sorted map contains, best first, for any length") {
  std::mt19937_64 random(Catch::rngSeed());
  for (const std::int64_t ranks : {1, 3, 31, 32, 33, 34, 200}) {
    PriceLadder ladder;
    std::map<std::int64_t, std::uint32_t> naive;
    const std::uint64_t operations = count_from("LAPWING_BOOK_OPERATIONS", 100'000) / 20;
    for (std::uint32_t i = 0; i < operations; ++i) {
      const std::int64_t rank =
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(ranks)) - ranks / 2;
      const std::size_t at = ladder.seek(rank);
      const bool held = naive.contains(rank);
      REQUIRE(ladder.holds(at, rank) == held);
      if (held) {
        REQUIRE(ladder.level(at) == naive[rank]);
        ladder.erase(at);
        naive.erase(rank);
      } else {
        ladder.insert(at, {rank, i});
        naive[rank] = i;
      }
      check_same(ladder, naive);
    }
  }
}

TEST_CASE("the ranks at the ends of the range are ranks like others") {
  PriceLadder ladder;
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t rank : {greatest, least, std::int64_t{0}}) {
    REQUIRE_FALSE(ladder.holds(ladder.seek(rank), rank));
    ladder.insert(ladder.seek(rank), {rank, 7});
  }
  CHECK(ladder[0].rank == greatest);
  CHECK(ladder[1].rank == 0);
  CHECK(ladder[2].rank == least);
  CHECK(ladder.holds(ladder.seek(least), least));
}

}  // namespace
}  // namespace lapwing
