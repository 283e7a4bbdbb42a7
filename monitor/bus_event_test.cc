#include "monitor/bus_event.h"

#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include <catch2/catch.hpp>

#include "bus/control/event_log.h"
#include "bus/control/socket.h"
#include "lapwing/error.h"
#include "proto/text_field.h"
#include "testing/asked_bus.h"

namespace lapwing {
namespace {

std::string sentence(BusEventKind kind, auto&& change) {
  EventInfoFrame event{};
  event.kind = kind;
  event.pid = 12;
  event.uid = 1000;
  set_text(event.name, "es-logger");
  change(event);
  return sentence_of(event);
}

TEST_CASE("Each kind of event is a sentence") {
  CHECK(sentence(BusEventKind::kAttached, [](EventInfoFrame&) {}) ==
        "es-logger (pid 12, user 1000) attached");
  CHECK(
      sentence(BusEventKind::kDetached,
               [](EventInfoFrame& event) {
                 event.position = 900;
                 event.records = 800;
                 event.gaps = 1;
                 event.lost = 100;
               }) ==
      "es-logger (pid 12, user 1000) left at sequence 900: 800 records, 1 gap, 100 lost, 0 filled "
      "from the journal");
  CHECK(sentence(BusEventKind::kLoss, [](EventInfoFrame& event) {
          event.lost = 1;
          event.gaps = 2;
          event.position = 7;
        }) == "es-logger (pid 12, user 1000) lost 1 record in 2 gaps before sequence 7");
  CHECK(sentence(BusEventKind::kRefused, [](EventInfoFrame& event) {
          set_text(event.name, "");
          event.reason = DropReason::kPeerNotAllowed;
          set_text(event.text, "not\nin the group");
        }) == "a client (pid 12, user 1000) was refused (peer-not-allowed): not?in the group");
  CHECK(sentence(BusEventKind::kStall, [](EventInfoFrame& event) { event.count = 1; }) ==
        "1 publish waited for the journal for more than a millisecond");
  CHECK(sentence(BusEventKind::kJournalFailed, [](EventInfoFrame& event) {
          event.sys_errno = ENOSPC;
        }) == "the journal failed: No space left on device");
  CHECK(sentence(BusEventKind::kJournalShed, [](EventInfoFrame&) {}) ==
        "journaling was stopped: the disk is too slow");
  CHECK(sentence(BusEventKind::kKilled, [](EventInfoFrame& event) { event.position = 900; }) ==
        "the last publisher (pid 12) was killed, crashed or lost power after sequence 900");
  const std::string missing =
      "es-logger (pid 12, user 1000) was attached when the last session ended and has not returned";
  CHECK(sentence(BusEventKind::kMissing, [](EventInfoFrame&) {}) == missing);
  CHECK(sentence(BusEventKind::kMissing, [](EventInfoFrame& event) {
          set_text(event.text, "stopped");
        }) == missing + "; its process is stopped");
  CHECK(sentence(BusEventKind::kMissing, [](EventInfoFrame& event) {
          set_text(event.text, "ended");
        }) == missing + "; its process has ended");
  CHECK(sentence(BusEventKind{77}, [](EventInfoFrame&) {}) ==
        "event of kind 77, which this release does not know");
  CHECK(std::string(name_of(BusEventKind{77})) == "unknown");
}

TEST_CASE("What is lost, or will be, is bad; who leaves without losses is not") {
  const auto bad = [](BusEventKind kind, std::uint64_t lost = 0) {
    EventInfoFrame event{};
    event.kind = kind;
    event.lost = lost;
    return is_bad(event);
  };
  CHECK(bad(BusEventKind::kLoss));
  CHECK(bad(BusEventKind::kJournalShed));
  CHECK(bad(BusEventKind::kDetached, 1));
  CHECK_FALSE(bad(BusEventKind::kDetached));
  CHECK_FALSE(bad(BusEventKind::kAttached));
}

TEST_CASE("However many come and go, what was lost before stays among the events that are kept") {
  std::deque<EventInfoFrame> kept;
  std::uint64_t number = 0;
  const auto happens = [&](BusEventKind kind, std::uint64_t lost = 0) {
    EventInfoFrame event{};
    event.number = ++number;
    event.kind = kind;
    event.lost = lost;
    keep_event(kept, event);
  };
  happens(BusEventKind::kLoss, 5);
  happens(BusEventKind::kDetached, 5);
  happens(static_cast<BusEventKind>(200));  // from a later release
  for (int i = 0; i < 1'000; ++i) {
    happens(BusEventKind::kAttached);
    happens(BusEventKind::kDetached);
  }
  REQUIRE(kept.size() == kEventsMax);
  CHECK(kept[0].kind == BusEventKind::kLoss);
  CHECK(kept[1].lost == 5);
  CHECK(kept[2].number == 3);
  CHECK(kept[3].number == number - kEventsMax + 4);
  CHECK(kept.back().number == number);
}

TEST_CASE("A publisher says who came, what it lost, and with what it left") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  {
    ReportFrame report = report_frame(50);
    report.gaps = 0;
    report.lost = 0;
    ControlClient client = reporting(bus, "reader", false, report);
    report.gaps = 1;
    report.lost = 9;
    client.report(report);
    bus.turn();
  }
  bus.turn();
  const auto ask = [&](std::uint64_t after) {
    auto events = beside(bus, [&] { return ask_events(bus.directory(), after); });
    REQUIRE(events.ok());
    return *std::move(events);
  };
  const ControlClient::EventList all = ask(0);
  REQUIRE(all.events.size() == 3);
  CHECK(all.end.newest == 3);
  CHECK(all.events[0].kind == BusEventKind::kAttached);
  CHECK(get_text(all.events[0].name) == "reader");
  CHECK(all.events[1].kind == BusEventKind::kLoss);
  CHECK(all.events[1].lost == 9);
  CHECK(all.events[2].kind == BusEventKind::kDetached);
  CHECK(all.events[2].position == 50);
  CHECK(all.events[2].lost == 9);
  CHECK(ask(2).events.size() == 1);
  CHECK(ask(3).events.empty());
  CHECK(ask(1'000).events.empty());  // for example, a number from an earlier publisher
}

TEST_CASE("Without a publisher there is nobody to be asked") {
  TestBus bus;
  bus.begin_session();
  CHECK_FALSE(ask_events(bus.directory()).ok());
}

}  // namespace
}  // namespace lapwing
