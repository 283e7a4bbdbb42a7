#include "bus/control/event_log.h"

#include <vector>

#include <catch2/catch.hpp>

#include "bus/control/socket.h"

namespace lapwing {
namespace {

EventInfoFrame event_of(BusEventKind kind, std::uint64_t lost = 0) {
  EventInfoFrame event = make_frame<EventInfoFrame>(FrameType::kEventInfo);
  event.kind = kind;
  event.lost = lost;
  return event;
}

std::vector<EventInfoFrame> all_of(const EventLog& log, std::uint64_t from = 0) {
  std::vector<EventInfoFrame> events;
  for (const EventInfoFrame* next = log.next(from); next != nullptr;
       next = log.next(next->number + 1)) {
    events.push_back(*next);
  }
  return events;
}

TEST_CASE("Events of all kinds come in the order in which they happened") {
  EventLog log;
  CHECK(log.next(0) == nullptr);
  CHECK(log.newest() == 0);
  log.add(event_of(BusEventKind::kAttached));
  log.add(event_of(BusEventKind::kLoss, 5));
  log.add(event_of(BusEventKind::kAttached));
  log.add(event_of(BusEventKind::kDetached, 5));
  const std::vector<EventInfoFrame> events = all_of(log);
  REQUIRE(events.size() == 4);
  for (std::size_t i = 0; i < events.size(); ++i) CHECK(events[i].number == i + 1);
  CHECK(events[1].kind == BusEventKind::kLoss);
  CHECK(events[3].kind == BusEventKind::kDetached);
  CHECK(events[0].wall_ns > 0);
  CHECK(log.newest() == 4);
  CHECK(all_of(log, 3).size() == 2);
  CHECK(log.next(5) == nullptr);
}

TEST_CASE("256 events are kept; a flood of one kind pushes out its own") {
  EventLog log;
  log.add(event_of(BusEventKind::kDetached, 1'000));  // lost records last night
  log.add(event_of(BusEventKind::kJournalFailed));
  for (int i = 0; i < 10'000; ++i) {
    log.add(event_of(BusEventKind::kAttached));
    log.add(event_of(BusEventKind::kDetached));
  }
  const std::vector<EventInfoFrame> events = all_of(log);
  REQUIRE(events.size() == kEventsMax);
  CHECK(events[0].number == 1);
  CHECK(events[0].lost == 1'000);
  CHECK(events[1].kind == BusEventKind::kJournalFailed);
  CHECK(events[2].number == 20'002 - kEventsMax + 3);
  CHECK(events.back().number == 20'002);
}

TEST_CASE("A class that has more than its share gives way to one that has less") {
  EventLog log;
  for (int i = 0; i < 1'000; ++i) log.add(event_of(BusEventKind::kRefused));
  for (int i = 0; i < 1'000; ++i) log.add(event_of(BusEventKind::kLoss, 1));
  std::size_t refused = 0;
  for (const EventInfoFrame& event : all_of(log)) {
    if (event.kind == BusEventKind::kRefused) ++refused;
  }
  CHECK(refused == kEventsMax / 2);
}

}  // namespace
}  // namespace lapwing
