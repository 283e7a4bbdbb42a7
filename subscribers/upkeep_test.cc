#include "subscribers/upkeep.h"

#include <catch2/catch.hpp>
#include <utility>

#include "subscribers/bus_search.h"
#include "testing/attached_bus.h"
#include "testing/far_deadline.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kUpkeepPublished = 10;
constexpr std::uint64_t kStaleNs = 1000;

// A subscriber that has caught up and is reading the ring.
struct Kept : AttachedBus {
  Kept() : AttachedBus(kUpkeepPublished), options(bus.options()) {
    options.behind_records = 5;
    options.stale_after = std::chrono::nanoseconds(kStaleNs);
    stream.emplace(options, cursor);
    stream->attach(std::move(attachment));
    stream->backlog.begin(kUpkeepPublished);
    REQUIRE(stream->begin_history(kUpkeepPublished + 1).ok());
    REQUIRE(stream->backlog.step(kUpkeepPublished + 1));
    cursor.phase = Phase::kLive;
    search.emplace(options);
    upkeep.emplace(options, *stream, search->client_options());
    bus.beat();
    start_ns = monotonic_ns();
    stream->watch.start(0, start_ns);
    upkeep->attach(start_ns);
  }
  // The last event posted.
  EventKind posted() {
    REQUIRE_FALSE(stream->outbox.empty());
    return stream->take_event().event;
  }
  // The information that the publisher has about the subscriber.
  SubscriberInfoFrame heard() {
    for (int i = 0; i < 10; ++i) bus.turn();
    const auto subscribers = bus.server->subscribers();
    REQUIRE(subscribers.size() == 1);
    return subscribers[0];
  }

  SubscriberOptions options;
  ReadCursor cursor;
  std::optional<Stream> stream;
  std::optional<BusSearch> search;
  std::optional<Upkeep> upkeep;
  std::uint64_t start_ns = 0;
};

TEST_CASE(
    "Changes are reported at most every kReportNsMin, and unchanged values every kReportNsMax") {
  Kept kept;
  kept.upkeep->report(kept.start_ns);
  CHECK(kept.heard().position == kUpkeepPublished);
  CHECK(kept.heard().state == ClientState::kLive);
  kept.cursor.next += 3;
  kept.upkeep->report(kept.start_ns + kReportNsMin - 1);
  CHECK(kept.heard().position == kUpkeepPublished);
  kept.upkeep->report(kept.start_ns + kReportNsMin);
  CHECK(kept.heard().position == kUpkeepPublished + 3);
}

TEST_CASE("A stop is reported at once") {
  Kept kept;
  kept.upkeep->report(kept.start_ns);
  kept.upkeep->report_stop();
  CHECK(kept.heard().state == ClientState::kStopped);
}

TEST_CASE("A subscriber that has taken everything is reported as live, until a gap") {
  Kept kept;
  CHECK(kept.upkeep->awaits_live());
  CHECK(kept.upkeep->run(kept.start_ns));
  CHECK(kept.posted() == EventKind::kLive);
  CHECK_FALSE(kept.upkeep->awaits_live());
  CHECK_FALSE(kept.upkeep->run(kept.start_ns));
  kept.bus.publish(6);
  CHECK(kept.upkeep->run(kept.start_ns));
  CHECK(kept.posted() == EventKind::kBehind);
  kept.cursor.next += 6;
  CHECK(kept.upkeep->run(kept.start_ns));
  CHECK(kept.posted() == EventKind::kLive);
  kept.upkeep->on_delivered({.kind = DueKind::kEvent, .event = EventKind::kGap});
  CHECK(kept.upkeep->awaits_live());
}

TEST_CASE("Only an idle subscriber detects that its publisher is silent or gone") {
  Kept kept;
  REQUIRE(kept.upkeep->run(kept.start_ns));
  REQUIRE(kept.posted() == EventKind::kLive);
  SECTION("silent") {
    CHECK_FALSE(kept.upkeep->run(kept.start_ns + kStaleNs));
    CHECK(kept.upkeep->run_idle(kept.start_ns + kStaleNs));
    CHECK(kept.posted() == EventKind::kStale);
    CHECK_FALSE(kept.upkeep->run_idle(kept.start_ns + 3 * kStaleNs));
  }
  SECTION("gone") {
    kept.bus.kill();
    CHECK_FALSE(kept.upkeep->run(kept.start_ns));
    CHECK_FALSE(kept.stream->watch.ended());
    CHECK_FALSE(kept.upkeep->run_idle(kept.start_ns));
    CHECK(kept.stream->watch.ending() == Ending::kHungUp);
  }
}

TEST_CASE("Records that are not described are not measured") {
  Kept kept;
  CHECK(kept.cursor.measured_from == AgeMeter::kNothingDue);
  CHECK_FALSE(kept.upkeep->ages());
}

}  // namespace
}  // namespace lapwing
