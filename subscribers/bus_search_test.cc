#include "subscribers/bus_search.h"

#include <catch2/catch.hpp>

#include "lapwing/error.h"
#include "testing/journal_fixture.h"
#include "testing/ring_spec.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kReattachNs = 1'000'000;

SubscriberOptions options_of(const TestDirectory& directory) {
  SubscriberOptions options;
  options.directory = directory.path();
  options.reattach = std::chrono::nanoseconds(kReattachNs);
  return options;
}

TEST_CASE("A search of an empty directory ends a fixed time after its first step") {
  TestDirectory directory;
  BusSearch search(options_of(directory));
  REQUIRE(search.step(7).ok());
  CHECK(search.unanswered());
  CHECK(search.given_up(7 + kReattachNs - 1).ok());
  const absl::Status given_up = search.given_up(7 + kReattachNs);
  CHECK(errc_of(given_up) == Errc::kNoBus);
  CHECK(std::string(given_up.message()).find("within 0.001 s") != std::string::npos);
}

TEST_CASE("A search after a session has its own deadline, and names that session") {
  TestDirectory directory;
  BusSearch search(options_of(directory));
  REQUIRE(search.step(7).ok());
  search.start({fixture_id(1), false, "session 1 died", 42});
  CHECK(search.left() == "session 1 died");
  REQUIRE(search.step(1000).ok());
  CHECK(search.given_up(1000 + kReattachNs - 1).ok());
  const absl::Status given_up = search.given_up(1000 + kReattachNs);
  CHECK(errc_of(given_up) == Errc::kPublisherGone);
  const std::string text(given_up.message());
  CHECK(text.find("session 1 died; no publisher returned") == 0);
  CHECK(text.find("continue from sequence 42") != std::string::npos);
}

TEST_CASE("A search without a deadline never ends") {
  TestDirectory directory;
  SubscriberOptions options = options_of(directory);
  options.reattach = std::chrono::nanoseconds::max();
  BusSearch search(options);
  constexpr std::uint64_t kLateNs = std::uint64_t{1} << 63;
  REQUIRE(search.step(kLateNs).ok());
  CHECK(search.given_up(kLateNs + 1).ok());
}

}  // namespace
}  // namespace lapwing
