// For tests: a bus that receives requests while the test's thread, which owns it, runs its turns.
//
// Thread safety: the test's thread.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <string>
#include <utility>

#include "bus/control/client.h"
#include "testing/bus_fixture.h"
#include "testing/control_fixture.h"
#include "testing/far_deadline.h"

namespace lapwing {

// Runs `work` in another thread while this thread runs the bus's turns.
template <typename Work>
auto beside(TestBus& bus, Work work) {
  auto done = std::async(std::launch::async, work);
  while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) bus.turn();
  return done.get();
}

// Returns a client that is attached and has sent this report.
inline ControlClient reporting(TestBus& bus, const std::string& name, bool may_park,
                               const ReportFrame& report) {
  auto client = beside(bus, [&, path = socket_in(bus.directory())] {
    return ControlClient::connect({.path = path, .name = name, .may_park = may_park},
                                  far_deadline());
  });
  REQUIRE(client.ok());
  client->report(report);
  bus.turn();
  return *std::move(client);
}

}  // namespace lapwing
