// The subscriber on a bus that the test drives step by step: joining, reading, falling behind.
// subscriber_sessions_test.cc tests deaths and returns, and histories_test.cc stored positions.
#include "lapwing/subscriber.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <random>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/error.h"
#include "proto/slot_stamp.h"
#include "proto/text_field.h"
#include "subscribers/reporter.h"
#include "testing/bus_fixture.h"
#include "testing/is_readable.h"
#include "testing/process_threads.h"

namespace lapwing {
namespace {

// A live subscriber that has caught up at record `at` and is then lapped by one and a half rings.
struct Lapped {
  explicit Lapped(OnGap on_gap, bool with_journal = true) : bus(with_journal) {
    bus.start();
    SubscriberOptions options = bus.options();
    options.on_gap = on_gap;
    trace.emplace(bus, options);
    bus.publish(10);
    REQUIRE(trace->until_record(10));
    trace->until_quiet();
    bus.publish(1536);
  }
  TestBus bus;
  std::optional<Trace> trace;
};

// 1,546 records are published, there are 1,024 slots, and an eighth of these is the head start.
constexpr Sequence kPublished = 1546;
constexpr Sequence kResume = kPublished - 1024 + 128;

TEST_CASE("Options can be named selectively without a compiler warning") {
  TestBus bus;
  bus.start();
  bus.publish(3);
  Subscriber subscriber = open_subscriber({.directory = bus.directory(), .start = Start::oldest()});
  Result<Item> item = Errc::kWouldBlock;
  while (came(item) != ItemKind::kRecord) {
    bus.turn();
    item = subscriber.next(Deadline::now());
  }
  CHECK(item->sequence == 1);
}

TEST_CASE("A live start delivers the next record and nothing before it") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  Trace trace(bus, bus.options(Start::live()));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.publish(5);
  REQUIRE(trace.until_record(15));
  CHECK(trace.lines == Lines{"caught-up 10", "11..15"});
}

TEST_CASE(
    "An oldest start delivers records that have left the ring, and reports when it has caught up") {
  CaughtUp joined(5000);
  auto& [bus, trace] = joined;
  bus.publish(5);
  trace.until_quiet();
  CHECK(trace.lines == Lines{"1..5000", "caught-up 5000", "5001..5005"});
  CHECK(trace.subscriber.record_bytes() == 56);
  CHECK(trace.subscriber.schema_name() == "bytes");
  const SubscriberCounters& counters = trace.subscriber.counters();
  CHECK(counters.records == 5005);
  CHECK(counters.first == 1);
  CHECK(counters.last == 5005);
  CHECK(counters.sessions == 1);
  CHECK(counters.gaps + counters.lost + counters.filled + counters.duplicates +
            counters.out_of_order + counters.reattached ==
        0);
}

TEST_CASE("A start at a sequence begins there, in the journal, in the ring or in the future") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  Trace journal(bus, bus.options(Start::sequence(7)));
  Trace ring(bus, bus.options(Start::sequence(2990)));
  Trace future(bus, bus.options(Start::sequence(3003)));
  REQUIRE(journal.until(EventKind::kCaughtUp));
  REQUIRE(ring.until(EventKind::kCaughtUp));
  REQUIRE(future.until(EventKind::kCaughtUp));
  bus.publish(5);
  for (Trace* trace : {&journal, &ring, &future}) trace->until_quiet();
  CHECK(journal.lines == Lines{"7..3000", "caught-up 3000", "3001..3005"});
  CHECK(ring.lines == Lines{"2990..3000", "caught-up 3000", "3001..3005"});
  CHECK(future.lines == Lines{"caught-up 3000", "3003..3005"});
}

TEST_CASE("A start at a time begins at or a little before it") {
  TestBus bus;
  bus.start();
  bus.publish(2000);
  bus.archive(2000);
  bus.journal.write_time(500, 1'000);
  bus.journal.write_time(900, 2'000);
  Trace trace(bus, bus.options(Start::time(2'000)));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  const Sequence first = trace.subscriber.counters().first;
  CHECK(first > 1);
  CHECK(first <= 901);
  CHECK(trace.lines == Lines{absl::StrCat(first, "..2000"), "caught-up 2000"});
}

TEST_CASE("A sequence that cannot exist is refused") {
  const Sequence asked = GENERATE(Sequence{0}, kSequenceMax + 6, ~Sequence{0});
  TestBus bus;
  bus.start();
  bus.publish(10);  // record 5's stamp is that of kSequenceMax + 6 without the top bit
  Trace trace(bus, bus.options(Start::sequence(asked)));
  CHECK_FALSE(trace.until(ItemKind::kRecord));
  CHECK(errc_of(trace.subscriber.status()) == Errc::kInvalidArgument);
}

TEST_CASE("A subscriber that is lapped while it joins misses nothing and reports no gap") {
  TestBus bus;
  bus.start();
  bus.publish(700);  // recent enough to begin in the ring
  SubscriberOptions options = bus.options();
  options.on_gap = GENERATE(OnGap::kFill, OnGap::kSkip, OnGap::kStop);
  Trace trace(bus, options);
  REQUIRE(trace.until_record(1));
  int laps = 0;
  while (came(trace.step()) == ItemKind::kRecord) {
    if (trace.subscriber.counters().records % 100 != 0) continue;
    bus.publish(1100);
    ++laps;
  }
  REQUIRE(laps == 7);
  trace.until_quiet();
  CHECK(trace.lines == Lines{"1..700", "caught-up 700", absl::StrCat("701..", 700 + laps * 1100)});
  CHECK(trace.subscriber.counters().gaps == 0);
}

TEST_CASE("With fill a lap is one gap with exact bounds, then the records come from the journal") {
  Lapped lapped(OnGap::kFill);
  lapped.trace->until_quiet();
  CHECK(lapped.trace->lines == Lines{"1..10", "caught-up 10",
                                     absl::StrCat("gap 11..", kResume - 1, " lapped fillable"),
                                     absl::StrCat("11..", kPublished)});
  const SubscriberCounters& counters = lapped.trace->subscriber.counters();
  CHECK(counters.gaps == 1);
  CHECK(counters.filled == kResume - 11);
  CHECK(counters.lost == 0);
}

TEST_CASE("A lap before the first record of an empty bus is a gap like any other") {
  const bool with_journal = GENERATE(true, false);
  TestBus bus(with_journal);
  bus.start();
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.publish(1546);
  trace.until_quiet();
  const std::string gap = absl::StrCat("gap 1..", kResume - 1, " lapped");
  if (with_journal) {
    CHECK(trace.lines == Lines{"caught-up 0", gap + " fillable", "1..1546"});
  } else {
    CHECK(trace.lines == Lines{"caught-up 0", gap, absl::StrCat(kResume, "..1546")});
  }
}

TEST_CASE("With skip the gap and the records are together exactly what was published") {
  Lapped lapped(OnGap::kSkip);
  lapped.trace->until_quiet();
  CHECK(lapped.trace->lines == Lines{"1..10", "caught-up 10",
                                     absl::StrCat("gap 11..", kResume - 1, " lapped fillable"),
                                     absl::StrCat(kResume, "..", kPublished)});
  const SubscriberCounters& counters = lapped.trace->subscriber.counters();
  CHECK(counters.lost == kResume - 11);
  CHECK(counters.records + counters.lost == kPublished);
}

TEST_CASE("With stop the subscriber ends before the gap, and a stored position continues there") {
  Lapped lapped(OnGap::kStop);
  CHECK(lapped.trace->until(EventKind::kGap));
  CHECK(came(lapped.trace->step()) == Came::kEnd);
  CHECK(errc_of(lapped.trace->subscriber.status()) == Errc::kStoppedAtGap);
  SubscriberOptions options = lapped.bus.options();
  options.start = Start::after(lapped.trace->subscriber.position());
  CHECK(options.start.position->sequence == 10);
  Trace resumed(lapped.bus, options);
  REQUIRE(resumed.until(EventKind::kCaughtUp));
  CHECK(resumed.lines ==
        Lines{absl::StrCat("11..", kPublished), absl::StrCat("caught-up ", kPublished)});
}

TEST_CASE("A gap that is longer than the failed journal is filled as far as possible") {
  TestBus bus;
  bus.start();
  Trace trace(bus, bus.options());
  bus.publish(100);
  REQUIRE(trace.until_record(100));
  trace.until_quiet();
  bus.publish(100);
  bus.archive(200);
  bus.fail_journal();
  bus.publish(2000);
  trace.until_quiet();
  const Sequence resume = 2200 - 1024 + 128;
  CHECK(trace.lines == Lines{"1..100", "caught-up 100",
                             absl::StrCat("gap 101..", resume - 1, " lapped"), "101..200",
                             absl::StrCat("lost 201..", resume - 1, " lapped"),
                             absl::StrCat(resume, "..2200")});
  const SubscriberCounters& counters = trace.subscriber.counters();
  CHECK(counters.filled == 100);
  CHECK(counters.lost == resume - 201);
  CHECK(counters.records + counters.lost == 2200);
}

TEST_CASE("A bus without a journal starts at the oldest slot and skips what is lapped") {
  CaughtUp joined(5000, false);
  auto& [bus, trace] = joined;
  bus.publish(5000);
  trace.until_quiet();
  const Sequence resume = 10000 - 1024 + 128;
  CHECK(trace.lines == Lines{"3977..5000", "caught-up 5000",
                             absl::StrCat("gap 5001..", resume - 1, " lapped"),
                             absl::StrCat(resume, "..10000")});
}

TEST_CASE("A bus without a journal refuses a sequence, a time, a stored position and fill") {
  TestBus bus(false);
  bus.start();
  std::vector<SubscriberOptions> refused(4, bus.options());
  refused[0].start = Start::sequence(1);
  refused[1].start = Start::time(1);
  refused[2].start = Start::after({});
  refused[3].on_gap = OnGap::kFill;
  for (const SubscriberOptions& options : refused) {
    Trace trace(bus, options);
    CHECK_FALSE(trace.until(EventKind::kCaughtUp));
    CHECK(errc_of(trace.subscriber.status()) == Errc::kNoJournal);
  }
}

TEST_CASE(
    "Records removed by retention are lost to an explicit start, but not to an oldest start") {
  TestBus bus;
  bus.start();
  bus.publish(5000);
  bus.archive(5000);
  bus.prune_below_segment(2);
  Trace asked(bus, bus.options(Start::sequence(100)));
  Trace oldest(bus, bus.options());
  REQUIRE(asked.until(EventKind::kCaughtUp));
  REQUIRE(oldest.until(EventKind::kCaughtUp));
  CHECK(asked.lines == Lines{"lost 100..2048 pruned", "2049..5000", "caught-up 5000"});
  CHECK(asked.subscriber.counters().lost == 1949);
  CHECK(oldest.lines == Lines{"2049..5000", "caught-up 5000"});
}

TEST_CASE("A loss that a batch has met is reported before later records") {
  TestBus bus;
  bus.start();
  bus.publish(5000);
  bus.archive(5000);
  bus.prune_below_segment(2);
  Trace trace(bus, bus.options(Start::sequence(100)));
  REQUIRE(trace.until(EventKind::kSession));
  std::vector<std::byte> out(56);
  for (int i = 0; i < 100; ++i) {
    bus.turn();
    REQUIRE(take_records(trace.subscriber, out) == 0);
  }
  REQUIRE(trace.subscriber.counters().lost == 1949);  // it has detected the loss
  CHECK(trace.subscriber.position().sequence == 99);
  CHECK(came(trace.step()) == EventKind::kLost);
  CHECK(trace.subscriber.position().sequence == 2048);
}

TEST_CASE("Records pruned since the ring's last update are lost with the right cause") {
  TestBus bus;
  bus.start();
  bus.publish(5000);
  bus.archive(5000);
  bus.kill();
  bus.prune_below_segment(2, /*ring_says_so=*/false);  // by the next publisher
  Trace trace(bus, bus.options(Start::sequence(100)));
  REQUIRE(trace.until(EventKind::kLost));
  CHECK(trace.text == "sequences 100 to 2048 are no longer kept: the oldest is 2049");
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"lost 100..2048 pruned", "2049..5000", "caught-up 5000"});
}

TEST_CASE("A damaged block of the journal is lost, named by file and offset, and passed") {
  TestBus bus;
  bus.start();
  bus.publish(5000);
  bus.archive(5000);
  flip_bit(bus.journal.file(1, "jnl"), 4096 + 3 * 4096 + 100, 3);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kLost));
  CHECK(trace.says(bus.journal.file(1, "jnl")));
  CHECK(trace.says("offset 16384"));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"1..1216", "lost 1217..1280 damaged", "1281..5000", "caught-up 5000"});
}

TEST_CASE("Records damaged in the journal but still in the ring come from the ring") {
  TestBus bus;
  bus.start();
  bus.publish(1000);
  bus.archive(1000);
  flip_bit(bus.journal.file(0, "jnl"), 4096 + 3 * 4096 + 100, 3);
  Trace trace(bus, bus.options());  // 1,000 of 1,024: too close to a lap to read the ring
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"1..1000", "caught-up 1000"});
}

// Puts a stamp that no publisher can have written into record n's slot.
void corrupt_slot(TestBus& bus, Sequence n) {
  const Word stamp = ready_stamp(n + 1);
  std::memcpy(bus.ring->slot(n), &stamp, sizeof stamp);
}

TEST_CASE("A corrupt slot of the ring is a gap of one record, filled from the journal") {
  CaughtUp joined(0);
  auto& [bus, trace] = joined;
  bus.publish(30);
  bus.archive(20);
  corrupt_slot(bus, 10);
  trace.until_quiet();
  CHECK(trace.lines == Lines{"caught-up 0", "1..9", "gap 10..10 damaged fillable", "10..30"});
  CHECK(trace.subscriber.counters().filled == 1);
  CHECK(trace.says("stamp 22"));
}

TEST_CASE("A record that is damaged in ring and journal is the only loss") {
  TestBus bus;
  bus.start();
  bus.publish(1000);
  bus.archive(1000);
  flip_bit(bus.journal.file(0, "jnl"), 4096 + 3 * 4096 + 100, 3);
  corrupt_slot(bus, 200);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"1..199", "lost 200..200 damaged", "201..1000", "caught-up 1000"});
}

TEST_CASE("A record only in a corrupt slot is lost once the journal can no longer get it") {
  CaughtUp joined(0);
  auto& [bus, trace] = joined;
  bus.publish(30);
  corrupt_slot(bus, 10);
  trace.until_quiet();
  CHECK(trace.lines == Lines{"caught-up 0", "1..9", "gap 10..10 damaged"});
  bus.fail_journal();
  trace.until_quiet();
  CHECK(trace.lines ==
        Lines{"caught-up 0", "1..9", "gap 10..10 damaged", "lost 10..10 damaged", "11..30"});
}

TEST_CASE("A batch copies available records, and stops before an event that poll then returns") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  Subscriber subscriber = open_subscriber(bus.options());
  std::vector<std::byte> out(100 * 56 + 55);  // room for 100 and part of one
  Sequence taken = 0;
  bool caught_up = false;
  for (int i = 0; i < 100'000 && taken < 3010; ++i) {
    bus.turn();
    const std::size_t count = take_records(subscriber, out);
    REQUIRE(count <= 100);
    for (std::size_t k = 0; k < count; ++k) {
      const auto expected = bus.journal.record(++taken);
      REQUIRE(
          std::equal(expected.begin(), expected.end(), out.begin() + static_cast<long>(k * 56)));
    }
    REQUIRE(subscriber.counters().records == taken);
    if (count > 0) continue;
    const Result<Item> item = subscriber.next(Deadline::now());
    if (came(item) == ItemKind::kRecord) ++taken;
    if (came(item) != EventKind::kCaughtUp) continue;
    REQUIRE(taken == 3000);
    caught_up = true;
    bus.publish(10);
  }
  CHECK(caught_up);
  CHECK(taken == 3010);
}

TEST_CASE("A subscriber goes from batches to single records and back without a hole") {
  TestBus bus;
  bus.start();
  bus.publish(4000);
  Subscriber subscriber = open_subscriber(bus.options());
  std::mt19937 random(7);
  std::vector<std::byte> out(300 * 56);
  Sequence taken = 0;
  for (int i = 0; i < 100'000 && taken < 6000; ++i) {
    bus.turn();
    if (bus.next() <= 6000) bus.publish(std::min<Sequence>(random() % 40, 6001 - bus.next()));
    if (random() % 2 == 0) {
      const std::span<std::byte> room = std::span(out).first((1 + random() % 300) * 56);
      const std::size_t count = take_records(subscriber, room);
      for (std::size_t k = 0; k < count; ++k) {
        const auto expected = bus.journal.record(++taken);
        REQUIRE(std::memcmp(expected.data(), out.data() + k * 56, 56) == 0);
      }
    } else if (const Result<Item> item = subscriber.next(Deadline::now());
               came(item) == ItemKind::kRecord) {
      REQUIRE(item->sequence == ++taken);
      REQUIRE(std::memcmp(item->record.data(), bus.journal.record(taken).data(), 56) == 0);
    }
    REQUIRE(subscriber.position().sequence == taken);
  }
  CHECK(taken == 6000);
  CHECK(subscriber.counters().gaps == 0);
}

TEST_CASE("A silent feed is stale once per silence") {
  TestBus bus;
  bus.start();
  SubscriberOptions options = bus.options();
  options.stale_after = std::chrono::nanoseconds(20'000'000);
  Trace trace(bus, options);
  for (int silence = 0; silence < 2; ++silence) {
    REQUIRE(trace.until(EventKind::kStale));
    const std::uint64_t told_ns = monotonic_ns();
    while (monotonic_ns() < told_ns + 50'000'000) (void)trace.step();
    bus.publish(1);
  }
  REQUIRE(trace.until_record(2));  // not until it is quiet, which may be the next silence
  CHECK(trace.lines == Lines{"caught-up 0", "stale 0", "1..1", "stale 1", "2..2"});
}

TEST_CASE("The publisher learns a subscriber's position") {
  TestBus bus;
  bus.start();
  bus.publish(2000);
  SubscriberOptions options = bus.options();
  options.on_gap = OnGap::kStop;
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  const auto reported = [&](Sequence position, ClientState state) {
    const std::uint64_t deadline_ns = monotonic_ns() + 60'000'000'000;
    while (monotonic_ns() < deadline_ns) {
      (void)trace.step();
      bus.turn();
      const auto clients = bus.server->subscribers();
      if (clients.size() == 1 && clients[0].position == position && clients[0].state == state) {
        return clients[0].records == position && get_text(clients[0].name) == "test";
      }
    }
    return false;
  };
  CHECK(reported(2000, ClientState::kLive));
  bus.publish(3);
  CHECK(reported(2003, ClientState::kLive));
}

TEST_CASE("The publisher learns which head a subscriber saw, however far behind it is") {
  TestBus bus;
  bus.start();
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bool seen_behind = false;
  for (const std::uint64_t deadline_ns = monotonic_ns() + 60'000'000'000;
       !seen_behind && monotonic_ns() < deadline_ns;) {
    bus.publish(900);
    const std::uint64_t published_ns = monotonic_ns();
    while (monotonic_ns() < published_ns + 2 * kReportNsMin) bus.turn();
    for (int i = 0; i < 1000; ++i) {
      (void)trace.step();
      bus.turn();
      const auto clients = bus.server->subscribers();
      REQUIRE(clients.size() == 1);
      CHECK(clients[0].head_seen >= clients[0].position);
      CHECK(clients[0].head_seen <= bus.head());
      seen_behind |= clients[0].head_seen == bus.head() && clients[0].position < bus.head();
    }
  }
  CHECK(seen_behind);
}

TEST_CASE("The descriptor is readable when there is something to do, and only then") {
  TestBus bus;
  bus.start();
  Trace trace(bus, bus.options());
  const auto descriptor = trace.subscriber.fd();
  REQUIRE(descriptor.ok());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  int quiet = 0;
  // Like an event loop, reads until nothing is left each time the descriptor is readable.
  const auto read_all = [&] {
    do {
      while (came(trace.step()) != Came::kNothing) {
      }
    } while (!trace.subscriber.arm());
  };
  for (Sequence n = 1; n <= 20; ++n) {
    read_all();
    if (!is_readable(*descriptor, 0)) ++quiet;
    bus.publish(1);
    bump_bell(doorbell_address(bus.ring->words()));
    futex_wake_all(doorbell_address(bus.ring->words()));
    while (trace.subscriber.counters().records < n) {
      REQUIRE(is_readable(*descriptor, 60'000));
      read_all();
    }
  }
  CHECK(trace.lines == Lines{"caught-up 0", "1..20"});
  CHECK(quiet > 0);  // not each time: a tick may come in between
  bus.kill();
  while (trace.lines.back() != "publisher-gone 20") {
    REQUIRE(is_readable(*descriptor, 60'000));
    REQUIRE(came(trace.step()) != Came::kEnd);
    (void)trace.subscriber.arm();
  }
}

TEST_CASE("The thread behind the descriptor is placed, and an impossible placement is refused") {
  TestBus bus;
  bus.start();
  SubscriberOptions options = bus.options();
  options.threads = {.cpus = {this_thread().cpus().back()}, .nice = 19};
  {
    Trace trace(bus, options);
    CHECK(threads_named("lapwing-bell").empty());
    REQUIRE(trace.subscriber.fd().ok());
    const ProcessThread bell = thread_named("lapwing-bell");
    CHECK(bell.cpus() == options.threads.cpus);
    CHECK(bell.nice() == 19);
  }
  options.threads.cpus = {8000};
  CHECK(errc_of(Subscriber::open(options).status()) == Errc::kInvalidArgument);
}

TEST_CASE(
    "An event loop that polls only when the descriptor is readable follows a bus completely") {
  TestBus bus;
  Trace trace(bus, bus.options());
  const auto descriptor = trace.subscriber.fd();
  REQUIRE(descriptor.ok());
  const auto turn_of_the_loop = [&] {
    REQUIRE(is_readable(*descriptor, 60'000));
    do {
      while (came(trace.step()) != Came::kNothing) {
      }
    } while (!trace.subscriber.arm());
  };
  const auto loop_until = [&](const std::string& line) {
    while (trace.lines.empty() || trace.lines.back() != line) turn_of_the_loop();
  };
  turn_of_the_loop();  // there is no bus yet
  bus.start();
  bus.publish(2000);
  loop_until("caught-up 2000");
  bus.publish(2000);  // laps it
  loop_until("2001..4000");
  bus.kill();
  loop_until("publisher-gone 4000");
  bus.recover();
  bus.start();
  bus.publish(5);
  loop_until("4001..4005");
  bus.close();
  loop_until("closed 4005");
  bus.start();
  bus.publish(5);
  loop_until("4006..4010");
  CHECK(trace.lines == Lines{"1..2000", "caught-up 2000", "gap 2001..3103 lapped fillable",
                             "2001..4000", "publisher-gone 4000", "session 4001", "4001..4005",
                             "closed 4005", "session 4006", "4006..4010"});
}

TEST_CASE("A wait with a descriptor also backs off until it sleeps") {
  TestBus bus;
  bus.start();
  SubscriberOptions options = bus.options();
  options.wait = WaitStrategy::kBackoff;
  Trace trace(bus, options);
  REQUIRE(trace.subscriber.fd().ok());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  rusage before{};
  rusage after{};
  // Repeat if another process used the core until the deadline.
  const std::uint64_t hang_ns = monotonic_ns() + 60'000'000'000;
  do {
    bus.turn();
    REQUIRE(getrusage(RUSAGE_THREAD, &before) == 0);
    CHECK(came(trace.subscriber.next(std::chrono::milliseconds(300))) == Came::kNothing);
    REQUIRE(getrusage(RUSAGE_THREAD, &after) == 0);
  } while (after.ru_nvcsw == before.ru_nvcsw && monotonic_ns() < hang_ns);
  CHECK(after.ru_nvcsw > before.ru_nvcsw);  // it gave up the core voluntarily
}

TEST_CASE("A subscriber that spins has no descriptor, because it gets no doorbell") {
  TestBus bus;
  SubscriberOptions options = bus.options();
  options.wait = WaitStrategy::kBusy;
  Subscriber subscriber = open_subscriber(options);
  CHECK(errc_of(subscriber.fd().status()) == Errc::kInvalidArgument);
}

TEST_CASE("A wait returns at its deadline, in every phase") {
  TestBus bus;
  const auto strategy = GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
  SubscriberOptions options = bus.options();
  options.wait = strategy;
  Subscriber subscriber = open_subscriber(options);
  const auto waits = [&] {
    const Deadline deadline = std::chrono::milliseconds(5);
    const Result<Item> item = subscriber.next(deadline);
    return came(item) == Came::kNothing && deadline.has_passed();
  };
  CHECK(waits());  // seeking
  bus.start();
  bus.publish(1);
  bus.flush = FlushManner::kIgnore;
  while (!bus.server->flushes_waiting()) {
    bus.turn();
    REQUIRE(came(subscriber.next(std::chrono::milliseconds(1))) == Came::kNothing);
  }
  CHECK(waits());  // flushing
  bus.flush = FlushManner::kAnswer;
  bus.turn();
  const Deadline far = std::chrono::seconds(60);
  CHECK(came(subscriber.next(far)) == EventKind::kSession);
  CHECK(came(subscriber.next(far)) == ItemKind::kRecord);
  CHECK(came(subscriber.next(far)) == EventKind::kCaughtUp);
  CHECK(waits());  // live
  bus.publish(1);
  // It must not be missed if the deadline has passed.
  CHECK(came(subscriber.next(Deadline::now())) == ItemKind::kRecord);
}

TEST_CASE("A schema whose size differs from its records is not trusted") {
  TestBus bus;
  bus.schema = "dbn.mbp-1";  // its records have 80 bytes; these have 56
  bus.start();
  bus.publish(5);
  Trace live(bus, bus.options(Start::oldest()));
  REQUIRE(live.until_record(5));
  CHECK(live.subscriber.schema_name() == "bytes");
  CHECK_THAT(live.schema_note, Catch::Contains("56 bytes dbn.mbp-1"));
  bus.close();
  Trace remains(bus, bus.options(Start::oldest()));
  REQUIRE(remains.until_record(5));
  CHECK(remains.subscriber.schema_name() == "bytes");
  CHECK_FALSE(remains.schema_note.empty());
}

TEST_CASE("A schema whose size matches its records, or that does not ship, is accepted") {
  TestBus bus;
  bus.schema = GENERATE("dbn.mbo", "my.own");
  bus.start();
  bus.publish(5);
  Trace trace(bus, bus.options(Start::oldest()));
  REQUIRE(trace.until_record(5));
  CHECK(trace.subscriber.schema_name() == bus.schema);
  CHECK(trace.schema_note.empty());
}

}  // namespace
}  // namespace lapwing
