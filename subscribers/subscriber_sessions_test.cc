// The subscriber across sessions: a publisher's death and return, and the dead publisher's files.
// The test drives the bus step by step.
#include <catch2/catch.hpp>
#include <thread>

#include "lapwing/error.h"
#include "lapwing/subscriber.h"
#include "testing/bus_fixture.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

SubscriberOptions impatient(const TestBus& bus, Start start = Start::oldest()) {
  SubscriberOptions options = bus.options(start);
  options.reattach = std::chrono::nanoseconds(50 * kMs);
  return options;
}

TEST_CASE("A wait for a bus that never appears ends with the searched directory") {
  TestBus bus;
  Trace trace(bus, impatient(bus));
  CHECK_FALSE(trace.until(ItemKind::kRecord));
  CHECK(trace.lines == Lines{"ended 0"});
  CHECK(errc_of(trace.subscriber.status()) == Errc::kNoBus);
  CHECK(trace.says(bus.directory()));
}

TEST_CASE("A publisher whose ring file is gone does not keep a subscriber waiting for ever") {
  TestBus bus;
  bus.start();
  bus.kill();
  Trace trace(bus, impatient(bus));
  (void)trace.step();  // it has found the files, and briefly waits for their publisher
  REQUIRE(trace.lines.empty());
  REQUIRE(bus.ring->unlink().ok());
  bus.open_socket();
  CHECK_FALSE(trace.until(ItemKind::kRecord));
  CHECK(trace.lines == Lines{"ended 0"});
  CHECK(trace.says(bus.ring->path()));
}

TEST_CASE("A bus that appears later is joined") {
  TestBus bus;
  Trace trace(bus, bus.options());
  trace.until_quiet();
  bus.start();
  bus.publish(3);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"1..3", "caught-up 3"});
}

TEST_CASE("After a kill, the ring is read to its last complete record, then the next session") {
  CaughtUp joined(3000);
  auto& [bus, trace] = joined;
  bus.publish(20);
  bus.publish_without_head(5);
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  CHECK(trace.subscriber.position().session_id == fixture_id(1));
  trace.until_quiet();
  bus.recover();
  bus.start();
  bus.publish(10);
  REQUIRE(trace.until_record(3035));
  trace.until_quiet();
  CHECK(trace.lines == Lines{"1..3000", "caught-up 3000", "3001..3025", "publisher-gone 3025",
                             "session 3026", "3026..3035"});
  const SubscriberCounters& counters = trace.subscriber.counters();
  CHECK(counters.records == 3035);
  CHECK(counters.sessions == 2);
  CHECK(counters.reattached == 1);
  CHECK(trace.subscriber.position().session_id == fixture_id(2));
}

TEST_CASE("A subscriber that lags when the publisher dies continues into the next session") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until_record(100));
  bus.kill();
  bus.recover();
  bus.start();
  bus.publish(2000);
  REQUIRE(trace.until_record(5000));
  trace.until_quiet();
  CHECK(trace.lines ==
        Lines{"1..3000", "caught-up 3000", "publisher-gone 3000", "session 3001", "3001..5000"});
}

TEST_CASE("Sessions that came and went during a search are reported in order") {
  CaughtUp joined(10);
  auto& [bus, trace] = joined;
  bus.kill();
  bus.recover();
  bus.start();
  bus.publish(10);
  bus.close();
  bus.start();  // this session begins and ends without a record
  bus.close();
  bus.start();
  bus.publish(10);
  REQUIRE(trace.until_record(30));
  trace.until_quiet();
  CHECK(trace.lines == Lines{"1..10", "caught-up 10", "publisher-gone 10", "session 11", "11..20",
                             "session 21", "session 21", "21..30"});
  CHECK(trace.subscriber.counters().sessions == 4);
}

TEST_CASE("A history of several sessions is reported session by session") {
  TestBus bus;
  for (int session = 0; session < 3; ++session) {
    bus.start();
    bus.publish(2000);
    bus.close();
  }
  bus.start();
  Trace trace(bus, bus.options());
  Trace middle(bus, bus.options(Start::sequence(3000)));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  REQUIRE(middle.until(EventKind::kCaughtUp));
  trace.until_quiet();
  CHECK(trace.lines == Lines{"1..2000", "session 2001", "2001..4000", "session 4001", "4001..6000",
                             "session 6001", "caught-up 6000"});
  CHECK(trace.subscriber.counters().sessions == 4);
  CHECK(middle.lines ==
        Lines{"3000..4000", "session 4001", "4001..6000", "session 6001", "caught-up 6000"});
  CHECK(middle.subscriber.counters().sessions == 3);
}

TEST_CASE("A clean close is reported after all records, then the next session continues") {
  CaughtUp joined(0);
  auto& [bus, trace] = joined;
  bus.publish(900);
  bus.close();
  REQUIRE(trace.until(EventKind::kClosed));
  bus.start();
  bus.publish(5);
  REQUIRE(trace.until_record(905));
  CHECK(trace.lines == Lines{"caught-up 0", "1..900", "closed 900", "session 901", "901..905"});
}

TEST_CASE("A record that is published in the moment of the close is delivered before it") {
  // The subscriber checks the ring's state at every empty poll, so publishing and closing often
  // happen between its check of the slot and its check of the state.
  for (int round = 0; round < 50; ++round) {
    TestBus bus(false);
    bus.start();
    Trace trace(bus, bus.options());
    REQUIRE(trace.subscriber.fd().ok());
    REQUIRE(trace.until(EventKind::kCaughtUp));
    std::thread closing([&bus] {
      bus.publish(1);
      store_ring_state(bus.ring->words(), RingState::kClosed);
    });
    std::vector<Came> kinds;
    while (kinds.empty() || kinds.back() != EventKind::kClosed) {
      const Result<Item> item = trace.subscriber.next(Deadline::now());
      if (came(item) != Came::kNothing) kinds.push_back(came(item));
    }
    closing.join();
    REQUIRE(kinds == std::vector<Came>{ItemKind::kRecord, EventKind::kClosed});
  }
}

TEST_CASE("A session that came and went unseen is read from its files") {
  CaughtUp joined(0);
  auto& [bus, trace] = joined;
  for (int session = 0; session < 3; ++session) {
    bus.publish(100);
    bus.close();
    REQUIRE(trace.until(EventKind::kClosed));
    bus.start();
  }
  CHECK(trace.lines == Lines{"caught-up 0", "1..100", "closed 100", "session 101", "101..200",
                             "closed 200", "session 201", "201..300", "closed 300"});
}

TEST_CASE("If the publisher does not return, the subscriber ends, and nothing stays open") {
  const std::size_t before = open_descriptors();
  TestBus bus;
  bus.start();
  bus.publish(5);
  Trace trace(bus, impatient(bus));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  const bool clean = GENERATE(true, false);
  clean ? bus.close() : bus.kill();
  CHECK_FALSE(trace.until(EventKind::kStale));
  CHECK(trace.lines ==
        Lines{"1..5", "caught-up 5", clean ? "closed 5" : "publisher-gone 5", "ended 5"});
  CHECK(errc_of(trace.subscriber.status()) == Errc::kPublisherGone);
  CHECK(trace.says(clean ? "closed" : "without a close"));
  CHECK(trace.says("within 0.05 s: no publisher runs at " + bus.directory()));
  CHECK(trace.says("continue from sequence 6"));
  CHECK(came(trace.subscriber.next(Deadline::now())) == Came::kEnd);
  bus.ring.reset();  // the publisher's own
  CHECK(open_descriptors() == before);
}

TEST_CASE("A client that was dropped while its publisher lives joins again without an event") {
  CaughtUp joined(5);
  auto& [bus, trace] = joined;
  bus.kill();
  bus.open_socket();  // the same session
  bus.publish(2000);
  REQUIRE(trace.until_record(2005));
  REQUIRE(trace.until_attached());
  bus.publish(5);
  REQUIRE(trace.until_record(2010));
  CHECK(trace.subscriber.counters().reattached == 1);
  CHECK(trace.subscriber.counters().sessions == 1);
  for (const std::string& line : trace.lines)
    CHECK(line.find("publisher-gone") == std::string::npos);
}

TEST_CASE("A publisher whose heartbeat stops is gone, and is continued if the heartbeat returns") {
  CaughtUp joined(5);
  auto& [bus, trace] = joined;
  bus.beating = false;
  store_heartbeat(bus.ring->words(), monotonic_ns() - 10'000 * kMs);
  REQUIRE(trace.until(EventKind::kPublisherGone));
  CHECK(trace.says("has not moved"));
  bus.beating = true;
  bus.publish(5);
  REQUIRE(trace.until_record(10));
  CHECK(trace.lines == Lines{"1..5", "caught-up 5", "publisher-gone 5", "6..10"});
  CHECK(trace.subscriber.counters().sessions == 1);
  CHECK(trace.subscriber.counters().reattached == 1);
}

TEST_CASE("A power cut's void is lost to subscribers before it, with the exact rest") {
  CaughtUp joined(100);
  auto& [bus, trace] = joined;
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  bus.cut(40);
  bus.start();
  const Sequence first = bus.next();
  bus.publish(10);
  REQUIRE(trace.until(EventKind::kLost));
  CHECK(trace.says("this subscriber holds 41 to 100, which the journal does not"));
  REQUIRE(trace.until_record(first + 9));
  CHECK(trace.lines == Lines{"1..100", "caught-up 100", "publisher-gone 100",
                             absl::StrCat("lost 101..", first - 1, " void"),
                             absl::StrCat("session ", first),
                             absl::StrCat(first, "..", first + 9)});
  CHECK(trace.subscriber.counters().lost == first - 101);

  Trace late(bus, bus.options());
  REQUIRE(late.until(EventKind::kCaughtUp));
  CHECK(late.lines == Lines{"1..40", absl::StrCat("lost 41..", first - 1, " void"),
                            absl::StrCat("session ", first), absl::StrCat(first, "..", first + 9),
                            absl::StrCat("caught-up ", first + 9)});
  CHECK_FALSE(late.says("this subscriber holds"));
}

TEST_CASE("An oldest start skips a void that has no records before it") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  bus.kill();
  bus.cut(0);
  bus.start();
  bus.publish(10);
  Trace trace(bus, bus.options());
  Trace asked(bus, bus.options(Start::sequence(1)));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  REQUIRE(asked.until(EventKind::kCaughtUp));
  const Sequence first = bus.next() - 10;
  CHECK(trace.subscriber.counters().first == first);
  CHECK(trace.subscriber.counters().lost == 0);
  CHECK(asked.lines.front() == absl::StrCat("lost 1..", first - 1, " void"));
}

TEST_CASE("A void of exactly the records that a subscriber has is reported as an empty loss") {
  TestBus bus(true, 64);  // the reservation
  bus.start();
  bus.publish(64);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  bus.cut(40);
  bus.start();
  bus.publish(1);
  REQUIRE(trace.until(EventKind::kLost));
  CHECK(trace.says("this subscriber holds 41 to 64, which the journal does not"));
  REQUIRE(trace.until_record(65));
  CHECK(trace.lines == Lines{"1..64", "caught-up 64", "publisher-gone 64", "lost 65..64 void",
                             "session 65", "65..65"});
  CHECK(trace.subscriber.counters().lost == 0);
}

TEST_CASE("The records of a dead publisher are read without a publisher") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  bus.publish_without_head(5);
  bus.kill();
  Trace trace(bus, impatient(bus));
  CHECK_FALSE(trace.until(EventKind::kStale));
  CHECK(trace.lines == Lines{"1..3005", "caught-up 3005", "publisher-gone 3005", "ended 3005"});

  REQUIRE(bus.ring->unlink().ok());  // a power cut: records that are not durable may be lost
  Trace cut(bus, impatient(bus));
  CHECK_FALSE(cut.until(EventKind::kStale));
  const Sequence durable = bus.archived();
  CHECK(durable < 3000);
  CHECK(cut.lines == Lines{absl::StrCat("1..", durable), absl::StrCat("caught-up ", durable),
                           absl::StrCat("publisher-gone ", durable),
                           absl::StrCat("ended ", durable)});
}

TEST_CASE("A description that contradicts the ring of a dead session is damage, not an overrun") {
  TestBus bus(false);
  bus.start();
  bus.publish(5);
  bus.kill();
  BusDescription smaller = bus.description(false);
  smaller.record_bytes = 8;
  smaller.slot_bytes = 16;
  bus.describe(smaller);
  Trace trace(bus, bus.options());
  CHECK_FALSE(trace.until(ItemKind::kRecord));
  CHECK(errc_of(trace.subscriber.status()) == Errc::kDamaged);
  CHECK(trace.says("gives a record size of 8 bytes"));
}

TEST_CASE("A bus that was closed is read to its end, then the next session is waited for") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  bus.close();
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kClosed));
  CHECK(trace.lines == Lines{"1..3000", "caught-up 3000", "closed 3000"});
  bus.start();
  bus.publish(1);
  REQUIRE(trace.until_record(3001));
  CHECK(trace.lines.back() == "3001..3001");
}

TEST_CASE("A publisher that is killed once its journal was closed has closed its session") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  Trace there(bus, bus.options());
  REQUIRE(there.until(EventKind::kCaughtUp));
  bus.publish(5);
  bus.close_journal();
  bus.kill();  // before it could mark the ring as closed
  REQUIRE(there.until(EventKind::kClosed));
  CHECK(there.lines == Lines{"1..10", "caught-up 10", "11..15", "closed 15"});
  Trace late(bus, bus.options());
  REQUIRE(late.until(EventKind::kClosed));
  CHECK(late.lines == Lines{"1..15", "caught-up 15", "closed 15"});
}

TEST_CASE("Records that a start has cut are not read from a remaining ring") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  bus.archive(40);
  bus.kill();
  bus.journal.end(1, 40, SessionEnd::kCut, bus.reserved());  // that start was also killed
  Trace trace(bus, impatient(bus));
  CHECK_FALSE(trace.until(EventKind::kStale));
  CHECK(trace.lines == Lines{"1..40", "caught-up 40", "publisher-gone 40", "ended 40"});
}

TEST_CASE("A live start on a bus without a publisher begins with the next session") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  bus.kill();
  Trace trace(bus, bus.options(Start::live()));
  REQUIRE(trace.until(EventKind::kPublisherGone));
  bus.cut(40);
  bus.start();
  const Sequence first = bus.next();
  bus.publish(3);
  REQUIRE(trace.until_record(first + 2));
  CHECK(trace.lines == Lines{"caught-up 100", "publisher-gone 100", absl::StrCat("session ", first),
                             absl::StrCat(first, "..", first + 2)});
  CHECK(trace.subscriber.counters().lost == 0);
}

TEST_CASE("A live start before its publisher's socket reports what a crash then loses") {
  TestBus bus;
  bus.begin_session();
  Trace trace(bus, bus.options(Start::live()));
  REQUIRE(trace.until(EventKind::kPublisherGone));  // mistaken for the files of a dead session
  bus.open_socket();
  bus.publish(5);
  REQUIRE(trace.until_record(5));
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  bus.cut(2);
  bus.start();
  const Sequence first = bus.next();
  bus.publish(1);
  REQUIRE(trace.until_record(first));
  CHECK(trace.lines == Lines{"caught-up 0", "publisher-gone 0", "1..5", "publisher-gone 5",
                             absl::StrCat("lost 6..", first - 1, " void"),
                             absl::StrCat("session ", first), absl::StrCat(first, "..", first)});
}

TEST_CASE("A batch that reads a session to its end does not look for the next one") {
  TestBus bus(false);
  bus.start();
  const std::size_t before = open_descriptors();
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.kill();
  bus.open_socket();  // a search finds it
  std::vector<std::byte> out(100 * 56);
  const std::uint64_t deadline_ns = monotonic_ns() + 60'000 * kMs;
  while (open_descriptors() != before && monotonic_ns() < deadline_ns) {
    REQUIRE(take_records(trace.subscriber, out) == 0);
  }
  CHECK(open_descriptors() == before);  // it has left, but is not searching yet
}

TEST_CASE("After a publisher's death during the flush, all records up to the join are delivered") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  bus.flush = FlushManner::kIgnore;
  Trace trace(bus, bus.options());
  REQUIRE(trace.until_flush_waits());
  bus.publish(50);
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  CHECK(trace.lines == Lines{"1..3000", "caught-up 3000", "3001..3050", "publisher-gone 3050"});
}

TEST_CASE("A publisher that never answers the flush ends the join in time, with nothing open") {
  const std::size_t before = open_descriptors();
  TestBus bus;
  bus.start();
  bus.publish(3000);
  bus.flush = FlushManner::kIgnore;
  SubscriberOptions options = bus.options();
  options.flush_timeout = std::chrono::nanoseconds(20 * kMs);
  Trace trace(bus, options);
  CHECK_FALSE(trace.until(ItemKind::kRecord));
  CHECK(trace.lines == Lines{"ended 0"});
  CHECK(errc_of(trace.subscriber.status()) == Errc::kNoAnswer);
  CHECK(trace.says("did not make sequence 3000 durable within 0.02 s"));
  bus.server.reset();
  bus.ring.reset();
  CHECK(open_descriptors() == before);
}

TEST_CASE("A publisher that never answers the greeting ends the join in time, with nothing open") {
  TestBus bus;
  bus.start();
  const std::size_t before = open_descriptors();
  SubscriberOptions options = bus.options();
  options.flush_timeout = std::chrono::nanoseconds(20 * kMs);
  Subscriber subscriber = open_subscriber(options);  // the server is not running
  const Result<Item> item = subscriber.next(std::chrono::seconds(60));
  REQUIRE(came(item) == Came::kEnd);
  CHECK(errc_of(subscriber.status()) == Errc::kNoAnswer);
  CHECK(std::string(subscriber.status().message()).find("does not answer") != std::string::npos);
  CHECK(open_descriptors() == before);
}

TEST_CASE("Durable follows the bus, even while records beyond it are delivered") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  Trace trace(bus, bus.options());
  CHECK(trace.subscriber.durable() == 0);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.publish(100);
  REQUIRE(trace.until_record(400));
  CHECK(trace.subscriber.durable() == 300);
  bus.archive_unsynced(350);
  CHECK(trace.subscriber.durable() == 300);
  bus.archive(380);
  CHECK(trace.subscriber.durable() == 380);
  bus.close();
  REQUIRE(trace.until(EventKind::kClosed));
  CHECK(trace.subscriber.durable() == 400);
}

TEST_CASE("Records that a cut removed are not durable, whatever the next session makes durable") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.publish(100);
  REQUIRE(trace.until_record(400));
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  CHECK(trace.subscriber.durable() == 300);
  bus.cut(300);
  bus.start();
  bus.publish(50);
  bus.archive(bus.head());
  REQUIRE(trace.until(EventKind::kLost));
  CHECK(trace.subscriber.durable() == 300);
  REQUIRE(trace.until(EventKind::kSession));
  CHECK(trace.subscriber.durable() == bus.head());
}

TEST_CASE("Until a reset is reported, durable belongs to the previous history") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.publish(100);
  REQUIRE(trace.until_record(400));
  bus.fail_journal();
  bus.close();
  bus.start();
  bus.publish(600);
  bus.archive(600);
  std::vector<std::byte> out(100 * 56);
  REQUIRE(trace.until(EventKind::kClosed));
  const std::uint64_t deadline_ns = monotonic_ns() + 60'000 * kMs;
  while (trace.subscriber.position().journal_id != bus.description(false).journal_id &&
         monotonic_ns() < deadline_ns) {
    CHECK(trace.subscriber.durable() == 300);
    bus.turn();
    REQUIRE(take_records(trace.subscriber, out) == 0);
    if (bus.server->subscriber_count() == 1) break;  // its event is due
  }
  CHECK(trace.subscriber.durable() == 300);
  REQUIRE(trace.until(EventKind::kReset));
  CHECK(trace.subscriber.durable() == 600);
}

}  // namespace
}  // namespace lapwing
