#include "relay/in/stream_search.h"

#include <catch2/catch.hpp>
#include <cstdint>

#include "testing/sim_disk.h"

namespace lapwing {

// Message s of the stream has record s × 10. Some are discarded.
TEST_CASE("The search finds the first message that is not before the wanted record") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    SimRandom random(seed);
    const std::uint64_t first = 1 + random.below(1'000'000);
    const std::uint64_t last = first + random.below(1'000'000);
    const std::uint64_t wanted = first + random.below(last - first + 1);
    const std::uint64_t hole_first = first + random.below(last - first + 1);
    const std::uint64_t hole_last = hole_first + random.below(1'000);
    StreamSearch search(first, last);
    int probes = 0;
    while (const auto probe = search.probe()) {
      REQUIRE(++probes < 60);
      REQUIRE(*probe >= first);
      REQUIRE(*probe < last);
      const bool in_hole = *probe >= hole_first && *probe <= hole_last;
      const std::uint64_t message = in_hole ? hole_last + 1 : *probe;
      if (message > last) {
        search.saw_nothing();
      } else {
        search.saw(message, message < wanted);
      }
    }
    const bool is_discarded = wanted >= hole_first && wanted <= hole_last;
    if (is_discarded) {
      // Reading from there has the same first message.
      CHECK(search.result() >= hole_first);
      CHECK(search.result() <= hole_last + 1);
    } else {
      CHECK(search.result() == wanted);
    }
  }
}

TEST_CASE("A record near the end is found in few steps") {
  StreamSearch search(1, 10'000'000);
  const std::uint64_t wanted = 10'000'000 - 5;
  int probes = 0;
  while (const auto probe = search.probe()) {
    ++probes;
    search.saw(*probe, *probe < wanted);
  }
  CHECK(search.result() == wanted);
  CHECK(probes <= 8);
}

TEST_CASE("A stream of one message needs no search") {
  StreamSearch search(7, 7);
  CHECK_FALSE(search.probe());
  CHECK(search.result() == 7);
}

}  // namespace lapwing
