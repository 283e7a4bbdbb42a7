// For tests of a subscriber's parts: a state machine that the test steps, with the upkeep of an
// idle one, on a bus that the test controls.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "os/kernel.h"
#include "subscribers/subscriber_machine.h"
#include "testing/bus_fixture.h"
#include "testing/far_deadline.h"

namespace lapwing {

struct SteppedMachine {
  SteppedMachine(TestBus& driven, SubscriberOptions chosen)
      : bus(driven), options(std::move(chosen)) {}

  // Runs a step, counts its records and removes its events.
  Step step() {
    bus.turn();
    const Step step = machine.step(room, monotonic_ns());
    if (step.records > 0) cursor.count(step.records);
    if (step.kind == Step::Kind::kIdle && cursor.reads()) machine.upkeep().run_idle(monotonic_ns());
    while (!stream.outbox.empty()) events.push_back(stream.take_event().event);
    if (phases.back() != cursor.phase) phases.push_back(cursor.phase);
    return step;
  }
  bool has(EventKind kind) const { return std::ranges::find(events, kind) != events.end(); }
  void until(EventKind kind) {
    for (const std::uint64_t deadline_ns = far_deadline(); !has(kind); step()) {
      REQUIRE(monotonic_ns() < deadline_ns);
    }
  }
  void until(Phase phase) {
    for (const std::uint64_t deadline_ns = far_deadline(); cursor.phase != phase; step()) {
      REQUIRE(monotonic_ns() < deadline_ns);
    }
  }

  TestBus& bus;
  const SubscriberOptions options;
  ReadCursor cursor;
  Stream stream{options, cursor};
  SubscriberMachine machine{options, stream};
  std::vector<std::byte> room = std::vector<std::byte>(100 * 56);
  std::vector<Phase> phases = {Phase::kSeeking};
  std::vector<EventKind> events;
};

}  // namespace lapwing
