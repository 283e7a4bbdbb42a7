// The subscriber on a bus whose journal has failed while publishing continues. The session log
// shows at once that the session's journal ended. The ring and the socket show that the session is
// still alive.
#include <catch2/catch.hpp>

#include "lapwing/error.h"
#include "lapwing/subscriber.h"
#include "testing/bus_fixture.h"

namespace lapwing {
namespace {

constexpr Sequence kDurableThen = 1500;
constexpr Sequence kArchived = 1800;  // written, but not known to be durable
constexpr Sequence kHeadThen = 2500;

// A running session whose journal has failed.
TestBus& start_failed(TestBus& bus) {
  bus.start();
  bus.publish(2000);
  bus.archive(kDurableThen);
  bus.archive_unsynced(kArchived);
  bus.fail_journal();
  bus.publish(kHeadThen - 2000);
  return bus;
}

StoredPosition position_at(Sequence sequence) {
  return {JournalFixture::journal_id(), fixture_id(1), sequence};
}

std::string range(Sequence first, Sequence last) {
  return absl::StrCat(first, "..", last);
}

TEST_CASE("An oldest start on a bus whose journal failed at once begins with the ring's records") {
  TestBus bus;
  bus.start();
  bus.fail_journal();
  bus.publish(5000);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"3977..5000", "caught-up 5000"});
  CHECK(trace.subscriber.counters().lost == 0);
}

TEST_CASE("An oldest start that is lapped at its first record reports no loss") {
  TestBus bus;
  bus.start();
  bus.fail_journal();
  bus.publish(5000);
  bus.publish_without_head(1);  // into the slot of the oldest record
  Trace trace(bus, bus.options());
  REQUIRE(trace.until_record(5001));
  CHECK(trace.lines == Lines{"4105..5000", "caught-up 5000", "5001..5001"});
  CHECK(trace.subscriber.counters().lost == 0);
}

TEST_CASE("A session that continues after its journal has failed can be joined from anywhere") {
  const Sequence first = GENERATE(Sequence{1}, Sequence{1000}, kDurableThen, kDurableThen + 1,
                                  kArchived, kArchived + 1, kHeadThen);
  TestBus bus;
  start_failed(bus);
  Trace trace(bus, bus.options(first == 1 ? Start::oldest() : Start::sequence(first)));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.says("not durable"));
  bus.publish(5);
  trace.until_quiet();
  CHECK(trace.lines ==
        Lines{range(first, kHeadThen), "caught-up 2500", range(kHeadThen + 1, kHeadThen + 5)});
  CHECK(trace.subscriber.counters().sessions == 1);
}

TEST_CASE("A join to a failed journal continues, and reports that and why it is not durable") {
  const bool shed = GENERATE(true, false);
  TestBus bus;
  bus.start();
  bus.publish(500);
  bus.archive(200);
  bus.fail_journal({shed ? JournalState::kShed : JournalState::kFailed, shed ? 0 : 28});
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"1..500", "caught-up 500"});
  const std::string why = shed ? "was shed because its disk was too slow" : "has failed (errno 28)";
  CHECK(trace.text == absl::StrCat("not durable: the journal of bus ", bus.directory(), " ", why,
                                   ". Sequences after 200 may be lost in a crash. "
                                   "Restart the publisher"));
}

TEST_CASE("A live start joins a session whose journal has failed") {
  TestBus bus;
  start_failed(bus);
  Trace trace(bus, bus.options(Start::live()));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.publish(5);
  trace.until_quiet();
  CHECK(trace.lines == Lines{"caught-up 2500", "2501..2505"});
}

TEST_CASE("A stored position is continued in a session whose journal has failed") {
  const Sequence taken =
      GENERATE(Sequence{1000}, kDurableThen, kDurableThen + 1, kArchived, kArchived + 1, kHeadThen);
  const bool alive = GENERATE(true, false);  // or killed, with its ring file still there
  TestBus bus;
  start_failed(bus);
  if (!alive) bus.kill();
  SubscriberOptions options = bus.options();
  options.start = Start::after(position_at(taken));
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  Lines expected;
  if (taken < kHeadThen) expected.push_back(range(taken + 1, kHeadThen));
  expected.push_back("caught-up 2500");
  CHECK(trace.lines == expected);
}

TEST_CASE("A stored position beyond the head of a living session is reset, failed journal or not") {
  TestBus bus;
  start_failed(bus);
  SubscriberOptions options = bus.options();
  options.start = Start::after(position_at(kHeadThen + 1));
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kReset));
  CHECK(trace.says("ends at 2500"));
}

TEST_CASE("A client that is dropped after the journal has failed joins again without an event") {
  CaughtUp joined(0);
  auto& [bus, trace] = joined;
  bus.publish(10);
  bus.archive(5);
  bus.fail_journal();
  bus.publish(10);
  REQUIRE(trace.until_record(20));
  bus.kill();
  bus.open_socket();  // the same session
  bus.publish(5);
  REQUIRE(trace.until_record(25));
  REQUIRE(trace.until_attached());
  bus.publish(5);
  REQUIRE(trace.until_record(30));
  CHECK(trace.lines == Lines{"caught-up 0", "1..30"});
  CHECK(trace.subscriber.counters().reattached == 1);
  CHECK(trace.subscriber.counters().sessions == 1);
}

TEST_CASE("Records in neither the failed journal nor the ring are lost for a join below them") {
  TestBus bus;
  start_failed(bus);
  bus.publish(2500);  // the ring holds 3977 … 5000
  Trace oldest(bus, bus.options());
  Trace inside(bus, bus.options(Start::sequence(kArchived + 100)));
  REQUIRE(oldest.until(EventKind::kCaughtUp));
  REQUIRE(inside.until(EventKind::kCaughtUp));
  CHECK(oldest.lines == Lines{"1..1800", "lost 1801..4103 lapped", "4104..5000", "caught-up 5000"});
  CHECK(inside.lines == Lines{"lost 1900..4103 lapped", "4104..5000", "caught-up 5000"});
  CHECK(oldest.subscriber.counters().lost == 4103 - 1800);
}

TEST_CASE("After a failed journal the next session is another history, reported once") {
  const bool attached = GENERATE(true, false);  // or joins only after the kill
  TestBus bus;
  start_failed(bus);
  std::optional<Trace> trace;
  if (attached) {
    trace.emplace(bus, bus.options());
    REQUIRE(trace->until(EventKind::kCaughtUp));
  }
  const StoredPosition stored = position_at(kHeadThen);
  bus.kill();
  if (!attached) trace.emplace(bus, bus.options());
  REQUIRE(trace->until(EventKind::kPublisherGone));
  CHECK(trace->subscriber.position().sequence == stored.sequence);
  CHECK(trace->subscriber.position().session_id == stored.session_id);
  REQUIRE(bus.ring->unlink().ok());
  bus.start();
  bus.publish(20);
  REQUIRE(trace->until_record(1));
  trace->until_quiet();
  CHECK(trace->lines ==
        Lines{"1..2500", "caught-up 2500", "publisher-gone 2500", "reset 1", "1..20"});
  CHECK(trace->subscriber.counters().out_of_order == 0);
  CHECK(trace->subscriber.counters().lost == 0);

  SubscriberOptions options = bus.options();
  options.start = Start::after(stored);
  Trace resumed(bus, options);
  REQUIRE(resumed.until(EventKind::kCaughtUp));
  CHECK(resumed.lines == Lines{"reset 1", "1..20", "caught-up 20"});
}

TEST_CASE("A session that follows a reset without a record is a session, not another reset") {
  CaughtUp joined(10);
  auto& [bus, trace] = joined;
  bus.fail_journal();
  bus.kill();
  REQUIRE(bus.ring->unlink().ok());
  bus.start();  // a new journal
  REQUIRE(trace.until(EventKind::kReset));
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  bus.recover();
  bus.start();
  bus.publish(3);
  REQUIRE(trace.until_record(3));
  CHECK(trace.lines == Lines{"1..10", "caught-up 10", "publisher-gone 10", "reset 1",
                             "publisher-gone 0", "session 1", "1..3"});
}

TEST_CASE("A session closed after its journal failed is reported as closed to its subscribers") {
  TestBus bus;
  start_failed(bus);
  Trace there(bus, bus.options());
  REQUIRE(there.until(EventKind::kCaughtUp));
  bus.publish(5);
  bus.close();
  REQUIRE(there.until(EventKind::kClosed));
  CHECK(there.lines == Lines{"1..2500", "caught-up 2500", "2501..2505", "closed 2505"});

  // Only the journal is left, and it does not show that the session was complete.
  Trace late(bus, bus.options());
  REQUIRE(late.until(EventKind::kPublisherGone));
  CHECK(late.lines == Lines{"1..1500", "caught-up 1500", "publisher-gone 1500"});
}

TEST_CASE(
    "The rest of a failed journal is read once after a close, then the next session is awaited") {
  TestBus bus;
  start_failed(bus);
  bus.close();
  SubscriberOptions options = bus.options();
  options.reattach = std::chrono::nanoseconds(50'000'000);
  Trace late(bus, options);
  REQUIRE(late.until(Came::kEnd));
  CHECK(late.lines == Lines{"1..1500", "caught-up 1500", "publisher-gone 1500", "ended 1500"});
  CHECK(late.subscriber.counters().reattached == 0);
}

}  // namespace
}  // namespace lapwing
