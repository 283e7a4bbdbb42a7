#include "monitor/expected_subscribers.h"

#include <catch2/catch.hpp>

#include "lapwing/error.h"

namespace lapwing {
namespace {

SubscriberStatus subscriber(const std::string& name) {
  SubscriberStatus status;
  status.name = name;
  return status;
}

BusReading bus(const std::string& label) {
  BusReading reading;
  reading.directory = "/run/" + label;
  reading.label = label;
  reading.ring = RingStatus{};
  reading.publisher = PublisherStatus{};
  reading.publisher->subscribers = {subscriber("here"), subscriber("away"), subscriber("view")};
  reading.publisher->subscribers[1].missing_since_wall_ns = 1;
  reading.publisher->subscribers[2].observes = true;
  return reading;
}

TEST_CASE("Each expected subscriber has one state") {
  MachineReading reading;
  reading.buses = {bus("es")};
  const auto found = check_expected(
      reading, {{"es", "here"}, {"es", "away"}, {"es", "view"}, {"es", "x"}, {"es", "x"}});
  REQUIRE(found.size() == 4);
  CHECK(found[0].state == ExpectedState::kAttached);
  CHECK(found[1].state == ExpectedState::kMissing);
  CHECK(found[2].state == ExpectedState::kAbsent);
  CHECK(found[3].state == ExpectedState::kAbsent);
  for (const ExpectedReading& one : found) {
    CHECK(one.directory == "/run/es");
    CHECK(one.why.empty());
  }
}

TEST_CASE("If nothing is known of a subscriber, there is a reason") {
  MachineReading reading;
  reading.buses = {bus("silent"), bus("dead"), bus("closed")};
  for (BusReading& one : reading.buses) {
    one.publisher = make_error(Errc::kPublisherGone, "its control socket is gone");
  }
  reading.buses[1].ring->is_held = false;
  reading.buses[2].ring = make_error(Errc::kNotFound, "the session was closed");
  const auto found =
      check_expected(reading, {{"silent", "a"}, {"dead", "a"}, {"closed", "a"}, {"nowhere", "a"}});
  REQUIRE(found.size() == 4);
  for (const ExpectedReading& one : found) CHECK(one.state == ExpectedState::kUnknown);
  CHECK(found[0].why == "its control socket is gone");
  CHECK(found[1].why == "its publisher is gone");
  CHECK(found[2].why == "the bus cannot be read: the session was closed");
  CHECK(found[3].why == "no bus with this label is known");
  CHECK(found[3].directory.empty());
}

}  // namespace
}  // namespace lapwing
