#include "relay/in/link.h"

#include <catch2/catch.hpp>
#include <set>

#include "lapwing/error.h"
#include "testing/relay_network.h"

namespace lapwing {
namespace {

struct Fixture {
  ConnectRelay connect() {
    return [this]() -> absl::StatusOr<std::unique_ptr<RelayTransport>> {
      ++attempts;
      if (!refusal.ok()) return refusal;
      return network.connect("mirror");
    };
  }

  RelayNetwork network{1};
  absl::Status refusal;
  int attempts = 0;
};

absl::Status cut() {
  return make_error(Errc::kPeerGone, "the server is gone");
}

}  // namespace

TEST_CASE("A connection is made at once, and again after a pause") {
  Fixture fixture;
  RelayLink link(fixture.connect(), 1);
  CHECK(link.reason() == "not connected yet");
  REQUIRE(link.try_connect(1'000));
  CHECK(link.reason().empty());
  CHECK_FALSE(link.try_connect(2'000));
  link.lose(cut(), 3'000);
  CHECK_FALSE(link.is_connected());
  CHECK(link.reason() == "the server is gone");
  CHECK_FALSE(link.try_connect(3'000 + RelayLink::kPauseNsMin / 2 - 1));
  CHECK(fixture.attempts == 1);
  REQUIRE(link.next_due_ns());
  CHECK(link.try_connect(*link.next_due_ns()));
}

TEST_CASE("Pauses grow, are limited, and differ between mirrors") {
  Fixture fixture;
  fixture.refusal = cut();
  std::set<std::uint64_t> first_pauses;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RelayLink link(fixture.connect(), seed);
    std::uint64_t now_ns = 0;
    std::uint64_t longest = 0;
    for (int i = 0; i < 12; ++i) {
      CHECK_FALSE(link.try_connect(now_ns));
      longest = std::max(longest, *link.next_due_ns() - now_ns);
      if (i == 3) first_pauses.insert(*link.next_due_ns() - now_ns);
      now_ns = *link.next_due_ns();
    }
    CHECK(longest >= RelayLink::kPauseNsMax / 2);
    CHECK(longest <= RelayLink::kPauseNsMax);
  }
  CHECK(first_pauses.size() > 15);
}

TEST_CASE("Cuts are counted for a minute") {
  Fixture fixture;
  RelayLink link(fixture.connect(), 1);
  std::uint64_t now_ns = 0;
  for (int i = 0; i < 3; ++i) {
    now_ns += 10'000'000'000;
    REQUIRE(link.try_connect(now_ns));
    link.lose(cut(), now_ns);
  }
  CHECK(link.cuts(now_ns) == 3);
  CHECK(link.cuts(now_ns + RelayLink::kCutsWindowNs - 15'000'000'000) == 2);
  CHECK(link.cuts(now_ns + RelayLink::kCutsWindowNs + 1) == 0);
  CHECK(link.cuts_total() == 3);
}

TEST_CASE("A refusal that another attempt does not change is shown") {
  Fixture fixture;
  RelayLink link(fixture.connect(), 1);
  fixture.refusal = make_error(Errc::kNotPermitted, "wrong credentials");
  link.try_connect(0);
  CHECK(errc_of(link.refusal()) == Errc::kNotPermitted);
  fixture.refusal = cut();
  link.try_connect(*link.next_due_ns());
  CHECK(link.refusal().ok());
}

}  // namespace lapwing
