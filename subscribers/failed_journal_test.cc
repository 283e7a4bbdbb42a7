// The subscriber on a bus whose journal has failed while live goes on: the session log says at once
// that the session's journal ended, the ring and the socket that the session lives.
#include <catch2/catch.hpp>

#include "proto/error.h"
#include "subscribers/subscriber.h"
#include "subscribers/test_bus.h"

namespace lapwing {
namespace {

TEST_CASE("An oldest start on a bus whose journal failed at once begins with what the ring has") {
  TestBus bus;
  bus.start();
  bus.fail_journal();
  bus.publish(5000);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(ItemKind::kCaughtUp));
  CHECK(trace.lines == Lines{"3977..5000", "caught-up 5000"});
  CHECK(trace.subscriber.counters().lost == 0);
}

TEST_CASE("An oldest start that is lapped at its first record loses nothing of what it asked for") {
  TestBus bus;
  bus.start();
  bus.fail_journal();
  bus.publish(5000);
  bus.publish_without_head(1);  // into the slot of the oldest
  Trace trace(bus, bus.options());
  REQUIRE(trace.until_record(5001));
  CHECK(trace.lines == Lines{"4105..5000", "caught-up 5000", "5001..5001"});
  CHECK(trace.subscriber.counters().lost == 0);
}

}  // namespace
}  // namespace lapwing
