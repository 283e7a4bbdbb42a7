// For tests of a subscriber's parts: a bus with records that the test controls, and a subscriber's
// attachment to it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "os/kernel.h"
#include "subscribers/attachment.h"
#include "subscribers/bus_search.h"
#include "testing/bus_fixture.h"

namespace lapwing {

struct AttachedBus {
  explicit AttachedBus(std::uint64_t published = 0) : attachment(attach(published)) {}

  TestBus bus;
  Attachment attachment;

 private:
  Attachment attach(std::uint64_t published) {
    bus.start();
    bus.publish(published);
    BusSearch search(bus.options());
    const std::uint64_t deadline_ns = monotonic_ns() + 60'000'000'000;  // ends a hang
    for (;;) {
      REQUIRE(monotonic_ns() < deadline_ns);
      bus.turn();
      auto found = search.step(monotonic_ns());
      REQUIRE(found.ok());
      if (*found) return *std::move(*found);
    }
  }
};

}  // namespace lapwing
