// OnGap::kSnapshot: after a lap, the newest checkpoint replaces the missed records.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <future>
#include <optional>
#include <vector>

#include "lapwing/error.h"
#include "lapwing/load_state.h"
#include "lapwing/subscriber.h"
#include "proto/slot_stamp.h"
#include "subscribers/reporter.h"
#include "testing/bus_checkpoints.h"
#include "testing/bus_fixture.h"

namespace lapwing {
namespace {

// A subscriber that has caught up at record 10 and is then lapped by one and a half rings. 1,546
// records are published and archived, and the ring continues at 650.
struct LappedByGap {
  explicit LappedByGap(std::uint32_t entry_bytes = sizeof(TestFold::Entry))
      : fold(std::make_shared<TestFold>(entry_bytes)) {
    bus.start();
    SubscriberOptions options = bus.options();
    options.on_gap = OnGap::kSnapshot;
    options.start.own_fold = fold;
    trace.emplace(bus, options);
    bus.publish(10);
    REQUIRE(trace->until_record(10));
    trace->until_quiet();
    bus.publish(1536);
    bus.archive(bus.head());
    trace->lines.clear();
  }
  SubscriberCounters counters() const { return trace->subscriber.counters(); }

  TestBus bus;
  std::shared_ptr<TestFold> fold;
  std::optional<Trace> trace;
};

constexpr char kGap[] = "gap 11..649 lapped fillable";

TEST_CASE("After the gap come the state of the newest checkpoint and the records after it") {
  LappedByGap lapped;
  write_checkpoint(lapped.bus, *lapped.fold, 900);
  const std::string newest = write_checkpoint(lapped.bus, *lapped.fold, 1200);
  REQUIRE(lapped.trace->until(EventKind::kSnapshotComplete));
  CHECK(lapped.trace->says(absl::StrCat("300 entries from ", newest)));
  REQUIRE(lapped.trace->until_record(1546));
  CHECK(lapped.trace->lines == Lines{kGap, "state x 300", "snapshot-complete 1200", "1201..1546"});
  CHECK(lapped.counters().gaps == 1);
  CHECK(lapped.counters().in_state == 1190);
  CHECK(lapped.counters().records == 356);
  CHECK(lapped.counters().lost == 0);
  CHECK(lapped.counters().filled == 0);
  CHECK(lapped.counters().duplicates == 0);
}

TEST_CASE("A state from within the gap is followed by the gap's other records, from the journal") {
  LappedByGap lapped;
  write_checkpoint(lapped.bus, *lapped.fold, 300);
  REQUIRE(lapped.trace->until_record(1546));
  CHECK(lapped.trace->lines == Lines{kGap, "state x 300", "snapshot-complete 300", "301..1546"});
  CHECK(lapped.counters().in_state == 290);
  CHECK(lapped.counters().filled == 349);
  CHECK(lapped.counters().records == 1256);
}

TEST_CASE("A checkpoint as of the first missing record is newer than the gap's beginning") {
  LappedByGap lapped;
  write_checkpoint(lapped.bus, *lapped.fold, 11);
  REQUIRE(lapped.trace->until_record(1546));
  CHECK(lapped.trace->lines == Lines{kGap, "state x 11", "snapshot-complete 11", "12..1546"});
  CHECK(lapped.counters().in_state == 1);
  CHECK(lapped.counters().filled == 638);
}

TEST_CASE("Without a checkpoint newer than the gap's beginning, the gap is filled with a reason") {
  LappedByGap lapped;
  const auto [as_of, words] = GENERATE(table<Sequence, std::string>(
      {{0, "no checkpoint in "}, {10, "is newer than sequence 10; continues with sequence 11"}}));
  if (as_of != 0) write_checkpoint(lapped.bus, *lapped.fold, as_of);
  REQUIRE(lapped.trace->until(EventKind::kNoSnapshot));
  CHECK(lapped.trace->says(words));
  REQUIRE(lapped.trace->until_record(1546));
  CHECK(lapped.trace->lines == Lines{kGap, "no-snapshot 11", "11..1546"});
  CHECK(lapped.counters().filled == 639);
  CHECK(lapped.counters().in_state == 0);
}

TEST_CASE(
    "The gap is reported with and without a state, and until then the position is before it") {
  LappedByGap lapped;
  write_checkpoint(lapped.bus, *lapped.fold, 1200);
  for (;;) {
    const Result<Item> item = lapped.trace->step();
    if (came(item) == EventKind::kSnapshotComplete) {
      CHECK(item->event->gap.first == 11);
      CHECK(item->event->gap.last == 649);
      CHECK(item->event->state_entries == 300);
      break;
    }
    CHECK(lapped.trace->subscriber.position().sequence == 10);
    CHECK_FALSE(lapped.trace->subscriber.live());
  }
  CHECK(lapped.trace->subscriber.position().sequence == 1200);
}

TEST_CASE("With an undelivered event after the gap, the position stays before the gap") {
  LappedByGap lapped;
  const auto [as_of, last, position] = GENERATE(table<Sequence, EventKind, Sequence>(
      {{1200, EventKind::kSnapshotComplete, 1200}, {0, EventKind::kNoSnapshot, 10}}));
  if (as_of != 0) write_checkpoint(lapped.bus, *lapped.fold, as_of);
  Subscriber& subscriber = lapped.trace->subscriber;
  std::vector<std::byte> record(56);
  for (const Deadline deadline = std::chrono::seconds(60);;) {
    REQUIRE_FALSE(deadline.has_passed());
    lapped.bus.turn();
    const Errc result = subscriber.read_one(record, Deadline::now()).error();
    if (result == Errc::kWouldBlock) continue;
    REQUIRE(result == Errc::kEventDue);
    CHECK(subscriber.position().sequence == 10);
    const Result<Item> item = subscriber.next(Deadline::now());
    if (item->event != nullptr) CHECK(item->event->gap.last == 649);
    if (came(item) == last) break;
  }
  CHECK(subscriber.position().sequence == position);
}

TEST_CASE("A corrupt slot is a gap of one record, filled from a state or from the journal") {
  TestBus bus;
  const auto fold = std::make_shared<TestFold>();
  bus.start();
  SubscriberOptions options = bus.options();
  options.on_gap = OnGap::kSnapshot;
  options.start.own_fold = fold;
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  trace.lines.clear();
  bus.publish(30);
  bus.archive(20);
  const Word stamp = ready_stamp(11);
  std::memcpy(bus.ring->slot(10), &stamp, sizeof stamp);
  Lines lines = {"1..9", "gap 10..10 damaged fillable"};
  SECTION("the state") {
    write_checkpoint(bus, *fold, 15);
    lines.insert(lines.end(), {"state x 15", "snapshot-complete 15", "16..30"});
  }
  SECTION("the journal") {
    lines.insert(lines.end(), {"no-snapshot 10", "10..30"});
  }
  REQUIRE(trace.until_record(30));
  CHECK(trace.lines == lines);
}

TEST_CASE("While a state is loaded after a gap, the subscriber is reported as filling") {
  LappedByGap lapped(4096);
  write_checkpoint(lapped.bus, *lapped.fold, 1200);
  REQUIRE(lapped.trace->until(EventKind::kGap));
  const std::uint64_t gap_ns = monotonic_ns();
  while (monotonic_ns() < gap_ns + 2 * kReportNsMin) lapped.bus.turn();
  REQUIRE(came(lapped.trace->step()) == Came::kNothing);
  lapped.bus.turn();
  const std::vector<SubscriberInfoFrame> subscribers = lapped.bus.server->subscribers();
  REQUIRE(subscribers.size() == 1);
  CHECK(subscribers[0].state == ClientState::kFilling);
  CHECK(subscribers[0].position == 10);
  CHECK(subscribers[0].gaps == 1);
}

TEST_CASE("If the publisher laps the ring while a state is loaded, nothing is missing") {
  LappedByGap lapped(4096);
  write_checkpoint(lapped.bus, *lapped.fold, 1200);
  REQUIRE(lapped.trace->until(EventKind::kGap));
  (void)lapped.trace->step();
  lapped.bus.publish(5000);
  REQUIRE(lapped.trace->until_record(6546));
  CHECK(lapped.trace->lines == Lines{kGap, "state x 300", "snapshot-complete 1200", "1201..6546"});
}

TEST_CASE("Each gap has its own state") {
  LappedByGap lapped;
  write_checkpoint(lapped.bus, *lapped.fold, 1546);
  REQUIRE(lapped.trace->until(EventKind::kSnapshotComplete));
  lapped.trace->until_quiet();
  lapped.bus.publish(1536);
  lapped.bus.archive(lapped.bus.head());
  write_checkpoint(lapped.bus, *lapped.fold, 3000);
  REQUIRE(lapped.trace->until_record(3082));
  CHECK(lapped.trace->lines == Lines{kGap, "state x 300", "snapshot-complete 1546",
                                     "gap 1547..2185 lapped fillable", "state x 300",
                                     "snapshot-complete 3000", "3001..3082"});
  CHECK(lapped.counters().in_state == 1536 + 1454);
}

TEST_CASE("After a publisher's death while the state is loaded, all its records are delivered") {
  LappedByGap lapped(4096);
  write_checkpoint(lapped.bus, *lapped.fold, 1200);
  REQUIRE(lapped.trace->until(EventKind::kGap));
  lapped.bus.kill();
  REQUIRE(lapped.trace->until(EventKind::kPublisherGone));
  CHECK(lapped.trace->lines ==
        Lines{kGap, "state x 300", "snapshot-complete 1200", "1201..1546", "publisher-gone 1546"});
}

TEST_CASE("A state in memory is replaced by the one after the gap") {
  TestBus bus;
  const auto fold = std::make_shared<TestFold>();
  bus.start();
  bus.publish(500);
  bus.archive(500);
  write_checkpoint(bus, *fold, 400);
  SubscriberOptions options = bus.options(Start::snapshot(fold));
  options.on_gap = OnGap::kSnapshot;
  auto loading =
      std::async(std::launch::async, [&] { return load_state(options, std::chrono::seconds(60)); });
  while (loading.wait_for(std::chrono::seconds(0)) != std::future_status::ready) bus.turn();
  auto loaded = loading.get();
  REQUIRE(loaded.ok());
  bus.publish(3000);
  bus.archive(bus.head());
  SECTION("by one with the same keys") {
    write_checkpoint(bus, *fold, 3200);
  }
  SECTION("by an empty one, as the fold says") {
    write_checkpoint(bus, *fold, MemoryState(fold->shape()), identity_at(bus, 3400));
  }
  SECTION("or goes on, where there is none") {}
  while (loaded->as_of() < 3500) {
    bus.turn();
    const Result<Item> item = loaded->next(Deadline::now());
    if (came(item) == ItemKind::kState) CHECK_FALSE(loaded->settled());
  }
  CHECK(loaded->settled());
  MemoryState expected(fold->shape());
  const bool was_empty = loaded->origin().find("0 entries from") == 0;
  const Sequence first = was_empty ? 3401 : 1;  // fewer records than keys
  for (Sequence n = first; n <= 3500; ++n) fold->apply(n, bus.journal.record(n), expected);
  CHECK(loaded->state().digest() == expected.digest());
}

TEST_CASE("A state after a gap needs a journal and a fold, which is checked at the start") {
  TestBus bus(GENERATE(true, false));
  bus.start();
  bus.publish(5);
  SubscriberOptions options = bus.options();
  const bool has_journal = options.on_gap == OnGap::kFill;
  options.on_gap = OnGap::kSnapshot;
  Trace trace(bus, options);
  CHECK_FALSE(trace.until(ItemKind::kRecord));
  const Errc expected = has_journal ? Errc::kInvalidArgument : Errc::kNoJournal;
  CHECK(errc_of(trace.subscriber.status()) == expected);
}

TEST_CASE("A fold is refused if no state would be loaded") {
  SubscriberOptions options{.directory = "./bus", .start = {.fold = "orders"}};
  CHECK(errc_of(Subscriber::open(options).status()) == Errc::kInvalidArgument);
  options.on_gap = OnGap::kSnapshot;
  CHECK(Subscriber::open(options).ok());
}

}  // namespace
}  // namespace lapwing
