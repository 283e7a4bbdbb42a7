// Stored positions at which subscribers continue, and positions that belong to another history. The
// test drives the bus step by step.
#include <catch2/catch.hpp>

#include "lapwing/subscriber.h"
#include "testing/bus_fixture.h"

namespace lapwing {
namespace {

TEST_CASE("A stored position counts as held if a power cut removes it") {
  const bool exactly = GENERATE(true, false);  // the void ends with the held record, or later
  TestBus bus(true, exactly ? 64 : 128);
  bus.start();
  bus.publish(64);
  bus.kill();
  SubscriberOptions options = bus.options();
  options.start = Start::after(StoredPosition{JournalFixture::journal_id(), fixture_id(1), 64});
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kPublisherGone));
  bus.cut(40);
  bus.start();
  bus.publish(1);
  REQUIRE(trace.until(EventKind::kLost));
  CHECK(trace.says("this subscriber holds 41 to 64, which the journal does not"));
  CHECK(trace.lines.back() == (exactly ? "lost 65..64 void" : "lost 65..128 void"));
}

TEST_CASE("A stored position continues after its record, whatever sessions came since") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  bus.kill();
  bus.recover();
  bus.start();
  bus.publish(100);
  for (const StoredPosition stored :
       {StoredPosition{JournalFixture::journal_id(), fixture_id(1), 50},
        StoredPosition{JournalFixture::journal_id(), fixture_id(1), 100},
        StoredPosition{JournalFixture::journal_id(), fixture_id(2), 100},
        StoredPosition{JournalFixture::journal_id(), fixture_id(2), 120}}) {
    SubscriberOptions options = bus.options();
    options.start = Start::after(stored);
    Trace trace(bus, options);
    REQUIRE(trace.until(EventKind::kCaughtUp));
    CHECK(trace.subscriber.counters().first == stored.sequence + 1);
    CHECK(trace.subscriber.counters().records == 200 - stored.sequence);
    CHECK(trace.subscriber.position().sequence == 200);
    CHECK(trace.subscriber.position().session_id == fixture_id(2));
  }
}

TEST_CASE("A stored position that this journal does not contain is always reported as a reset") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  bus.archive(40);
  bus.kill();
  bus.cut(40);
  bus.start();
  bus.publish(10);
  const Id128 journal = JournalFixture::journal_id();
  const std::pair<StoredPosition, std::string> cases[] = {
      {{fixture_id(66), fixture_id(1), 30}, "now keeps journal"},
      {{journal, fixture_id(66), 30}, "does not list"},
      {{journal, fixture_id(1), 41}, "ends at 40"},
      {{journal, fixture_id(2), bus.next()}, "ends at"},
  };
  for (const auto& [stored, why] : cases) {
    SubscriberOptions options = bus.options();
    options.start = Start::after(stored);
    Trace trace(bus, options);
    REQUIRE(trace.until(EventKind::kReset));
    CHECK(trace.lines == Lines{"reset 1"});
    CHECK(trace.says(why));
    REQUIRE(trace.until(EventKind::kCaughtUp));
    CHECK(trace.subscriber.counters().first == 1);
    CHECK(trace.subscriber.counters().records == 50);
  }
}

TEST_CASE("A stored position that head does not count yet is continued") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  bus.publish_without_head(5);  // in the middle of a batch
  SubscriberOptions options = bus.options();
  options.start = Start::after(StoredPosition{JournalFixture::journal_id(), fixture_id(1), 105});
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.publish(1);
  REQUIRE(trace.until_record(106));
  CHECK(trace.lines == Lines{"caught-up 100", "106..106"});
}

TEST_CASE("A journal that was restored to before the read position is another history") {
  const Sequence published =
      GENERATE(Sequence{50}, Sequence{200});  // published instead: fewer than were read, or more
  CaughtUp joined(100);
  auto& [bus, trace] = joined;
  bus.kill();
  bus.forget_history();
  bus.start();
  bus.publish(published);
  REQUIRE(trace.until(EventKind::kReset));
  CHECK(trace.says("rewritten"));
  REQUIRE(trace.until_record(published));
  CHECK(trace.lines == Lines{"1..100", "caught-up 100", "publisher-gone 100", "reset 1",
                             absl::StrCat("1..", published)});
}

TEST_CASE("A session without a journal begins another history") {
  CaughtUp joined(100, false);
  auto& [bus, trace] = joined;
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  REQUIRE(bus.ring->unlink().ok());
  bus.start();
  bus.publish(10);
  REQUIRE(trace.until(EventKind::kReset));
  trace.until_quiet();
  CHECK(trace.lines == Lines{"1..100", "caught-up 100", "publisher-gone 100", "reset 1", "1..10"});
  CHECK(trace.subscriber.counters().out_of_order == 0);
  CHECK(trace.subscriber.counters().duplicates == 0);
  CHECK(trace.subscriber.counters().records == 110);
}

TEST_CASE("A reset that a batch meets at the end of a session is reported after that end") {
  CaughtUp joined(10, false);
  auto& [bus, trace] = joined;
  bus.kill();
  REQUIRE(bus.ring->unlink().ok());
  bus.start();  // before the subscriber has noticed
  bus.publish(5);
  std::vector<std::byte> out(100 * 56);
  const std::uint64_t deadline_ns = monotonic_ns() + 60'000'000'000;
  const auto take_batch = [&] {
    bus.turn();
    REQUIRE(take_records(trace.subscriber, out) == 0);
    REQUIRE(monotonic_ns() < deadline_ns);
  };
  while (bus.server->subscriber_count() == 0) take_batch();
  for (int i = 0; i < 100; ++i) take_batch();  // also takes the Welcome
  CHECK(came(trace.step()) == EventKind::kPublisherGone);
  CHECK(trace.says("ended without a close after sequence 10"));
  CHECK(trace.subscriber.position().sequence == 10);
  CHECK(trace.subscriber.position().session_id == fixture_id(1));
  CHECK(came(trace.step()) == EventKind::kReset);
  CHECK(trace.says("keeps no journal to continue from"));
  CHECK(trace.subscriber.position().sequence == 0);
  CHECK(trace.subscriber.position().session_id == fixture_id(2));
  trace.until_quiet();
  CHECK(trace.lines == Lines{"1..10", "caught-up 10", "publisher-gone 10", "reset 1", "1..5"});
}

TEST_CASE("A position stored before a reset is of the session that was read, and is reset again") {
  CaughtUp joined(100);
  auto& [bus, trace] = joined;
  bus.kill();
  bus.put_back(50);
  bus.start();
  bus.publish(100);  // up to 150: the new session also has a record 100
  std::vector<std::byte> record(56);
  const std::uint64_t deadline_ns = monotonic_ns() + 60'000'000'000;
  StoredPosition stored;
  for (Came kind = Came::kNothing; kind != EventKind::kReset;) {
    REQUIRE(monotonic_ns() < deadline_ns);
    bus.turn();
    if (trace.subscriber.read_one(record, Deadline::now()).error() != Errc::kEventDue) continue;
    stored = trace.subscriber.position();
    kind = trace.subscriber.read_event()->kind;
  }
  CHECK(stored.session_id == fixture_id(1));
  CHECK(stored.sequence == 100);
  Trace resumed(bus, bus.options(Start::after(stored)));
  REQUIRE(resumed.until(EventKind::kReset));
  CHECK(resumed.says("but what is left of that session ends at 50"));
}

}  // namespace
}  // namespace lapwing
