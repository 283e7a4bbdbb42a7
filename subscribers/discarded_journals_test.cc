// The subscriber on a bus that began a new journal after one had failed. A discarded journal is
// read to its end, and then the next one follows.
#include <poll.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "lapwing/error.h"
#include "lapwing/subscriber.h"
#include "testing/bus_fixture.h"

namespace lapwing {
namespace {

constexpr Sequence kDurable = 1500;
constexpr Sequence kHead = 2500;

// The id of the journal with this number that TestBus begins.
Id128 journal_of(int number) {
  return number == 1 ? JournalFixture::journal_id()
                     : fixture_id(static_cast<std::uint8_t>(200 + number));
}

// The journal fails after 1,500 records, and its
// publisher continues to 2,500.
void publish_and_fail(TestBus& bus) {
  bus.publish(kDurable);
  bus.archive(kDurable);
  bus.fail_journal();
  bus.publish(kHead - kDurable);
}

void begin_next(TestBus& bus, bool is_published_known = true) {
  if (is_published_known) bus.journal.record_retention(0, bus.next() - 1);
  if (bus.server != nullptr) bus.kill();
  REQUIRE(bus.ring->unlink().ok());
  bus.start();
}

// A failed journal, and a new one with 20 records.
void start_second(TestBus& bus, bool is_published_known = true) {
  bus.start();
  publish_and_fail(bus);
  begin_next(bus, is_published_known);
  bus.publish(20);
}

SubscriberOptions after(TestBus& bus, int journal, std::uint8_t session, Sequence sequence) {
  return bus.options(Start::after({journal_of(journal), fixture_id(session), sequence}));
}

TEST_CASE("An oldest start begins with the oldest journal, under every policy") {
  const OnGap on_gap = GENERATE(OnGap::kFill, OnGap::kSkip, OnGap::kStop);
  TestBus bus;
  start_second(bus);
  SubscriberOptions options = bus.options();
  options.on_gap = on_gap;
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.publish(5);
  trace.until_quiet();
  CHECK(trace.lines ==
        Lines{"1..1500", "lost 1501..2500 session", "reset 1", "1..20", "caught-up 20", "21..25"});
  const SubscriberCounters counters = trace.subscriber.counters();
  CHECK(counters.records == 1525);
  CHECK(counters.lost == 1000);
  CHECK(counters.out_of_order == 0);
  CHECK(counters.duplicates == 0);
  CHECK(counters.reattached == 0);
}

TEST_CASE("The reset names the journal that has ended and the one that follows") {
  TestBus bus;
  start_second(bus);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kReset));
  CHECK(trace.says(journal_of(1).hex()));
  CHECK(trace.says(absl::StrCat("journal ", journal_of(2).hex(), " follows")));
}

TEST_CASE("Several discarded journals follow one another, with a reset before each next one") {
  TestBus bus;
  start_second(bus);
  bus.archive(15);
  bus.fail_journal();
  begin_next(bus, /*is_published_known=*/false);
  bus.publish(7);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"1..1500", "lost 1501..2500 session", "reset 1", "1..15", "reset 1",
                             "1..7", "caught-up 7"});
}

TEST_CASE("Without a publisher the discarded journal also comes first") {
  TestBus bus;
  start_second(bus);
  bus.close();
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kClosed));
  CHECK(trace.lines == Lines{"1..1500", "lost 1501..2500 session", "reset 1", "1..20",
                             "caught-up 20", "closed 20"});
}

TEST_CASE("A stored position in a discarded journal is continued there") {
  const Sequence taken = GENERATE(Sequence{1000}, kDurable, Sequence{2000}, kHead);
  TestBus bus;
  start_second(bus);
  Trace trace(bus, after(bus, 1, 1, taken));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  Lines expected;
  if (taken < kDurable) expected.push_back(absl::StrCat(taken + 1, "..1500"));
  const Sequence lost = std::max(taken, kDurable) + 1;
  if (lost <= kHead) expected.push_back(absl::StrCat("lost ", lost, "..2500 session"));
  expected.insert(expected.end(), {"reset 1", "1..20", "caught-up 20"});
  CHECK(trace.lines == expected);
  CHECK(trace.subscriber.counters().lost == kHead + 1 - lost);
}

TEST_CASE("Records published after a failure are lost only if they are known") {
  TestBus bus;
  start_second(bus, /*is_published_known=*/false);
  Trace trace(bus, after(bus, 1, 1, 1000));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"1001..1500", "reset 1", "1..20", "caught-up 20"});
}

TEST_CASE("A position stored at any event of a discarded journal repeats nothing") {
  TestBus bus;
  start_second(bus);
  std::optional<StoredPosition> stored;
  Lines lines;
  while (lines.empty() || lines.back() != "caught-up 20") {
    Trace trace(bus, stored ? bus.options(Start::after(*stored)) : bus.options());
    // Reads up to the next event that is not the first session.
    do {
      const Result<Item> item = trace.step();
      if (item->event != nullptr && !item->event->is_first_session) break;
    } while (true);
    lines.insert(lines.end(), trace.lines.begin(), trace.lines.end());
    stored = trace.subscriber.position();
  }
  CHECK(lines == Lines{"1..1500", "lost 1501..2500 session", "reset 1", "1..20", "caught-up 20"});
}

TEST_CASE("For a position in a journal whose files are gone, its rest is lost, then it is reset") {
  const bool by_retention = GENERATE(true, false);
  TestBus bus;
  bus.start();
  publish_and_fail(bus);
  const std::string files = bus.journal.journal_directory();
  begin_next(bus, /*is_published_known=*/false);
  bus.publish(20);
  for (const auto& file : std::filesystem::directory_iterator(files)) {
    std::filesystem::remove(file.path());
  }
  if (by_retention) {
    bus.journal.begin_journal(journal_of(1));
    bus.journal.record_retention(2);
    bus.journal.begin_journal(journal_of(2));
  }
  SubscriberOptions options = after(bus, 1, 1, 1000);
  options.missing_file_grace = std::chrono::nanoseconds(0);
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  const std::string cause = by_retention ? "pruned" : "damaged";
  CHECK(trace.lines ==
        Lines{absl::StrCat("lost 1001..1500 ", cause), "reset 1", "1..20", "caught-up 20"});
  Trace oldest(bus, bus.options());
  REQUIRE(oldest.until(EventKind::kCaughtUp));
  CHECK(oldest.lines == Lines{"1..20", "caught-up 20"});
}

TEST_CASE("A subscriber that was attached gets the rest of the failed journal before the reset") {
  TestBus bus;
  bus.start();
  bus.publish(1000);
  bus.archive(1000);
  SubscriberOptions options = bus.options();
  Trace trace(bus, options);
  REQUIRE(trace.until_record(700));
  bus.publish(500);
  bus.archive(1500);
  bus.fail_journal();
  bus.publish(300);
  begin_next(bus);
  bus.publish(20);
  REQUIRE(trace.until(EventKind::kReset));
  trace.until_quiet();
  CHECK(trace.subscriber.counters().lost == 0);
  CHECK(trace.lines == Lines{"1..1000", "caught-up 1000", "1001..1800", "publisher-gone 1800",
                             "reset 1", "1..20"});
}

TEST_CASE("A subscriber that missed a session of a failed journal gets that, then the next") {
  CaughtUp joined(100);
  auto& [bus, trace] = joined;
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  bus.recover();
  bus.begin_session();  // without a socket, so no client finds it
  bus.publish(50);
  bus.archive(140);
  bus.fail_journal();
  begin_next(bus);
  bus.publish(20);
  REQUIRE(trace.until(EventKind::kReset));
  trace.until_quiet();
  CHECK(trace.lines == Lines{"1..100", "caught-up 100", "publisher-gone 100", "session 101",
                             "101..140", "lost 141..150 session", "reset 1", "1..20"});
}

TEST_CASE("A start at a sequence is in the newest journal, or in the one that is named") {
  TestBus bus;
  start_second(bus);
  Trace newest(bus, bus.options(Start::sequence(11)));
  REQUIRE(newest.until(EventKind::kCaughtUp));
  CHECK(newest.lines == Lines{"11..20", "caught-up 20"});
  Start start = Start::sequence(1491);
  start.journal = journal_of(1);
  Trace named(bus, bus.options(start));
  REQUIRE(named.until(EventKind::kCaughtUp));
  CHECK(named.lines ==
        Lines{"1491..1500", "lost 1501..2500 session", "reset 1", "1..20", "caught-up 20"});
}

TEST_CASE("An oldest start in the newest journal, by its name, reads no other") {
  TestBus bus;
  start_second(bus);
  Start start = Start::oldest();
  start.journal = journal_of(2);
  Trace trace(bus, bus.options(start));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"1..20", "caught-up 20"});
}

TEST_CASE("A journal that the bus does not list ends the subscriber") {
  TestBus bus;
  bus.start();
  bus.publish(5);
  Start start = Start::oldest();
  start.journal = fixture_id(77);
  Trace trace(bus, bus.options(start));
  REQUIRE(trace.until(Came::kEnd));
  CHECK(errc_of(trace.subscriber.status()) == Errc::kNotFound);
  CHECK(trace.says("has no journal " + fixture_id(77).hex()));
}

TEST_CASE("A journal is named for starts that read history, and for no others") {
  TestBus bus;
  Start start = GENERATE(Start::live(), Start::snapshot());
  start.journal = journal_of(1);
  CHECK(errc_of(Subscriber::open(bus.options(start)).status()) == Errc::kInvalidArgument);
}

TEST_CASE("A start at a time is in the journal that was in use then") {
  TestBus bus;
  bus.start();
  publish_and_fail(bus);
  bus.journal.write_time(1000, 1'000);
  bus.journal.write_time(kDurable, 2'000);
  begin_next(bus, /*is_published_known=*/false);
  bus.publish(20);
  const auto log = SessionLog::open_read_only(bus.journal.disk(), bus.journal.root());
  REQUIRE(log.ok());
  const std::uint64_t second_ns = log->last()->begin.wall_ns;
  Trace before(bus, bus.options(Start::time(second_ns - 1)));
  REQUIRE(before.until(EventKind::kReset));
  Trace since(bus, bus.options(Start::time(second_ns)));
  REQUIRE(since.until(EventKind::kCaughtUp));
  CHECK(since.lines == Lines{"1..20", "caught-up 20"});
}

TEST_CASE("A live start reads no discarded journal") {
  TestBus bus;
  start_second(bus);
  Trace trace(bus, bus.options(Start::live()));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.publish(3);
  trace.until_quiet();
  CHECK(trace.lines == Lines{"caught-up 20", "21..23"});
}

TEST_CASE("A position of a journal that is not listed starts over with the oldest journal") {
  TestBus bus;
  start_second(bus);
  Trace trace(bus, after(bus, 77, 1, 10));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines ==
        Lines{"reset 1", "1..1500", "lost 1501..2500 session", "reset 1", "1..20", "caught-up 20"});
}

TEST_CASE("Records before the first one are not a loss for an oldest start, in any journal") {
  TestBus bus;
  bus.start();
  bus.publish(2100);
  bus.archive(2100);
  bus.prune_below_segment(1);
  bus.fail_journal();
  bus.kill();
  REQUIRE(bus.ring->unlink().ok());
  bus.start();
  bus.publish(20);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"1025..2100", "reset 1", "1..20", "caught-up 20"});
}

TEST_CASE("A batch has records of one journal") {
  TestBus bus;
  start_second(bus, /*is_published_known=*/false);
  Subscriber subscriber = open_subscriber(bus.options());
  std::vector<std::byte> rows(4096 * 56);
  std::vector<std::string> seen;
  while (seen.empty() || seen.back() != "caught-up") {
    bus.turn();
    const Result<Batch> batch = subscriber.read(rows, Deadline::now());
    if (batch->event) seen.push_back(name_of(batch->event->kind));
    if (came(batch) != ItemKind::kRecord) continue;
    const Id128 expected =
        seen.back() == "reset" || seen.back() == "20" ? journal_of(2) : journal_of(1);
    CHECK(subscriber.position().journal_id == expected);
    seen.push_back(absl::StrCat(batch->first + batch->count - 1));
  }
  CHECK(std::ranges::find(seen, "1500") < std::ranges::find(seen, "reset"));
}

TEST_CASE("A descriptor wakes an event loop over the end of a discarded journal") {
  TestBus bus;
  start_second(bus);
  SubscriberOptions options = bus.options();
  options.wait = WaitStrategy::kPark;
  Trace trace(bus, options);
  const absl::StatusOr<int> fd = trace.subscriber.fd();
  REQUIRE(fd.ok());
  while (trace.lines.empty() || trace.lines.back() != "caught-up 20") {
    bus.turn();
    while (came(trace.step()) != Came::kNothing) continue;
    if (!trace.subscriber.arm()) continue;
    pollfd ready{*fd, POLLIN, 0};
    REQUIRE(poll(&ready, 1, 10'000) == 1);
  }
  CHECK(trace.lines ==
        Lines{"1..1500", "lost 1501..2500 session", "reset 1", "1..20", "caught-up 20"});
}

TEST_CASE("Events contain whether journals came before this one") {
  TestBus bus;
  bus.start();
  publish_and_fail(bus);
  Subscriber first = open_subscriber(bus.options());
  begin_next(bus);
  Subscriber second = open_subscriber(bus.options(Start::live()));
  const auto first_session = [&bus](Subscriber& subscriber) {
    for (;;) {
      bus.turn();
      const Result<Item> item = subscriber.next(Deadline::now());
      if (came(item) == EventKind::kSession) return item->event->follows_journal;
    }
  };
  CHECK_FALSE(first_session(first));
  CHECK(first_session(second));
}

}  // namespace
}  // namespace lapwing
