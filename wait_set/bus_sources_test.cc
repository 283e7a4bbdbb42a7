// Subscribers and conflated readers in a wait set behave as in their own waits.
#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/conflation.h"
#include "lapwing/subscriber.h"
#include "lapwing/wait_set.h"
#include "proto/ring_words.h"
#include "testing/bus_fixture.h"
#include "testing/child_process.h"
#include "testing/far_deadline.h"
#include "testing/instrument_feed.h"
#include "testing/skip.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kTurn = 1000;  // token of the timer that drives the buses

struct Record {
  std::uint64_t words[7];
};
static_assert(sizeof(Record) == 56);

WaitSet open_set(WaitStrategy wait) {
  auto opened = WaitSet::open({.wait = wait});
  REQUIRE(opened.ok());
  return *std::move(opened);
}

void ring(TestBus& bus) {
  bump_bell(doorbell_address(bus.ring->words()));
  futex_wake_all(doorbell_address(bus.ring->words()));
}

// Buses, a subscriber to each, and the set in which they wait. The buses' work runs on a timer in
// the same set, so a test needs only one thread.
class Loop {
 public:
  explicit Loop(WaitStrategy wait) : set(open_set(wait)) {
    turn_ = set.add_timer(Deadline::now(), kTurn, std::chrono::milliseconds(2)).value();
  }

  // The token is the subscriber's number.
  void follow(TestBus& bus, SubscriberOptions options) {
    options.wait = WaitStrategy::kPark;
    buses.push_back(&bus);
    subscribers.push_back(open_subscriber(std::move(options)));
    lines.emplace_back();
    REQUIRE(set.add(subscribers.back(), subscribers.size() - 1).ok());
  }

  // Waits once, and calls the ready source once.
  void step() {
    const Result<Ready> ready = set.wait(kHang);
    REQUIRE(ready.ok());
    if (ready->token == kTurn) {
      for (TestBus* bus : buses) bus->turn();
      return;
    }
    REQUIRE(ready->kind == SourceKind::kSubscriber);
    const Result<Item> item = subscribers[ready->token].next(Deadline::now());
    if (came(item) == Came::kNothing) ++in_vain;
    if (came(item) == ItemKind::kRecord) ++records;
    if (item->event != nullptr) lines[ready->token].push_back(name_of(item->event->kind));
    if (came(item) == Came::kEnd) lines[ready->token].push_back("ended");
  }
  void until(std::size_t number, const std::string& line) {
    while (lines[number].empty() || lines[number].back() != line) step();
  }
  // From now on, the set sleeps until a bus rings, or a subscriber's own time has come.
  void stop_turning() { REQUIRE(set.remove(turn_) == Errc::kOk); }

  WaitSet set;
  std::vector<TestBus*> buses;
  std::deque<Subscriber> subscribers;
  std::vector<std::vector<std::string>> lines;  // events of each subscriber
  std::uint64_t records = 0;
  std::uint64_t in_vain = 0;  // ready sources that had nothing

 private:
  SourceId turn_ = 0;
};

WaitStrategy any_strategy() {
  return GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
}

TEST_CASE("Subscribers join in a wait set, and each record of any bus wakes it") {
  Loop loop(any_strategy());
  std::vector<std::unique_ptr<TestBus>> buses;
  for (std::size_t i = 0; i < 3; ++i) {
    buses.push_back(std::make_unique<TestBus>());
    loop.follow(*buses.back(), buses.back()->options());
  }
  for (const auto& bus : buses) bus->start();
  for (std::size_t i = 0; i < 3; ++i) loop.until(i, "caught-up");
  loop.stop_turning();
  for (std::size_t i = 0; i < 6; ++i) {
    TestBus& bus = *buses[i % 3];
    const Result<Ready> ready = while_it_waits([&] { return loop.set.wait(kHang); },
                                               [&] {
                                                 bus.publish(1);
                                                 ring(bus);
                                               });
    REQUIRE(ready.ok());
    CHECK(ready->token == i % 3);
    Record record{};
    CHECK(loop.subscribers[i % 3].read_one(record, Deadline::now()).ok());
    CHECK(loop.subscribers[i % 3].read_one(record, Deadline::now()) == Errc::kWouldBlock);
    for (const auto& other : buses) other->beat();
  }
  CHECK(loop.in_vain == 0);
}

TEST_CASE(
    "A subscriber that is ready has something, through journal and ring, to the last record") {
  Loop loop(any_strategy());
  TestBus bus;
  bus.start();
  bus.publish(3000);
  loop.follow(bus, bus.options());
  loop.until(0, "caught-up");
  CHECK(loop.records == 3000);
  bus.publish(50);
  while (loop.records < 3050) loop.step();
  bus.publish(3 * TestBus::kCapacity);  // laps it
  loop.until(0, "gap");
  while (loop.records < 3050 + 3 * TestBus::kCapacity) loop.step();
  CHECK(loop.in_vain == 0);
}

TEST_CASE("Records of other instruments make no subscriber ready, and keep no set from sleeping") {
  Loop loop(any_strategy());
  InstrumentFeed bus;
  bus.start();
  bus.publish(3000);
  loop.follow(bus, bus.choosing({"id:4"}));
  loop.until(0, "caught-up");
  CHECK(loop.records == 600);
  loop.stop_turning();
  bus.publish(3);
  const std::uint64_t deadline_ns = monotonic_ns() + 2'000'000;
  CHECK(loop.set.wait(Deadline::at_monotonic_ns(deadline_ns)).error() == Errc::kTimedOut);
  CHECK(monotonic_ns() >= deadline_ns);
  CHECK(loop.subscribers[0].counters().filtered == 2403);
  bus.beat();
  const Result<Ready> ready = while_it_waits([&] { return loop.set.wait(kHang); },
                                             [&] {
                                               bus.publish(1);
                                               ring(bus);
                                             });
  REQUIRE(ready.ok());
  Record record{};
  const Result<Sequence> taken = loop.subscribers[0].read_one(record, Deadline::now());
  CHECK(*taken == 3004);
  CHECK(loop.in_vain == 0);
}

TEST_CASE(
    "In a wait set a subscriber learns that its publisher has died, and attaches to the next") {
  Loop loop(any_strategy());
  TestBus bus;
  bus.start();
  bus.publish(5);
  loop.follow(bus, bus.options());
  loop.until(0, "caught-up");
  bus.kill();
  loop.until(0, "publisher-gone");
  bus.recover();
  bus.start();
  bus.publish(5);
  loop.until(0, "session");
  while (loop.records < 10) loop.step();
  bus.close();
  loop.until(0, "closed");
}

TEST_CASE("A silent bus is stale in a wait set, once for each silence") {
  Loop loop(WaitStrategy::kPark);
  TestBus bus;
  bus.start();
  SubscriberOptions options = bus.options();
  options.stale_after = std::chrono::milliseconds(20);
  loop.follow(bus, options);
  loop.until(0, "stale");
  bus.publish(1);
  while (loop.records < 1) loop.step();
  loop.lines[0].clear();
  loop.until(0, "stale");
  CHECK(loop.lines[0] == std::vector<std::string>{"stale"});
}

TEST_CASE("A subscriber that has ended is ready until it is removed") {
  Loop loop(WaitStrategy::kPark);
  TestBus bus;
  bus.start();
  SubscriberOptions options = bus.options();
  options.end_at_close = true;
  loop.follow(bus, options);
  loop.until(0, "caught-up");
  bus.close();
  loop.until(0, "ended");
  loop.stop_turning();
  SourceId ended = 0;
  for (int i = 0; i < 3; ++i) {
    const Result<Ready> ready = loop.set.wait(kHang);
    CHECK(ready->token == 0);
    ended = ready->source;
  }
  CHECK(loop.set.remove(ended) == Errc::kOk);
  CHECK(loop.set.wait(Deadline::now()).error() == Errc::kWouldBlock);
}

TEST_CASE("A subscriber stays in its set where it is moved, and leaves it where it is destroyed") {
  TestBus bus;
  WaitSet set = open_set(WaitStrategy::kPark);
  std::optional<Subscriber> first(open_subscriber(bus.options()));
  REQUIRE(set.add(*first, 7).ok());
  std::optional<Subscriber> second(std::move(*first));
  CHECK(errc_of(set.add(*first, 8).status()) == Errc::kMisuse);  // moved from
  first.reset();
  CHECK(set.size() == 1);
  bus.start();
  Result<Ready> ready = Errc::kWouldBlock;
  for (const Deadline deadline = kHang; !ready.ok();) {
    REQUIRE_FALSE(deadline.has_passed());
    bus.turn();
    ready = set.wait(Deadline::now());
  }
  CHECK(ready->token == 7);
  CHECK(came(second->next(Deadline::now())) == EventKind::kSession);
  second.reset();
  CHECK(set.size() == 0);
}

TEST_CASE("A call of a subscriber for which a set waits is misuse, and disturbs nothing") {
  if (kThreadSanitizer) LAPWING_SKIP("the misuse is a data race, which a sanitizer reports");
  Loop loop(WaitStrategy::kPark);
  TestBus bus;
  bus.start();
  loop.follow(bus, bus.options());
  loop.until(0, "caught-up");
  loop.stop_turning();
  Record record{};
  Errc overlapped = Errc::kOk;
  const Result<Ready> waited =
      while_it_waits([&] { return loop.set.wait(kHang); },
                     [&] {
                       overlapped = loop.subscribers[0].read_one(record, Deadline::now()).error();
                       bus.publish(1);
                       ring(bus);
                     });
  CHECK(overlapped == Errc::kMisuse);
  CHECK(waited.ok());
  CHECK(*loop.subscribers[0].read_one(record, Deadline::now()) == 1);
}

TEST_CASE("A subscriber that waits busily is refused by a set that sleeps") {
  TestBus bus;
  SubscriberOptions options = bus.options();
  options.wait = WaitStrategy::kBusy;
  Subscriber subscriber = open_subscriber(options);
  WaitSet sleeping = open_set(GENERATE(WaitStrategy::kBackoff, WaitStrategy::kPark));
  const absl::Status refused = sleeping.add(subscriber, 1).status();
  CHECK(errc_of(refused) == Errc::kInvalidArgument);
  CHECK(refused.message().find("Choose backoff or park") != absl::string_view::npos);
  WaitSet busy = open_set(WaitStrategy::kBusy);
  CHECK(busy.add(subscriber, 1).ok());
}

TEST_CASE("A subscriber of a parent is ready in the set of its child, and says that it is forked") {
  TestBus bus;
  Subscriber subscriber = open_subscriber(bus.options());
  ChildProcess child([&] {
    auto set = WaitSet::open();
    if (!set.ok() || !set->add(subscriber, 1).ok()) return __LINE__;
    if (set->wait(kHang)->token != 1) return __LINE__;
    Record record{};
    return subscriber.read_one(record, Deadline::now()) == Errc::kForked ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
}

ConflationOptions with_one_key(std::chrono::nanoseconds interval) {
  ConflationOptions options;
  options.interval = interval;
  options.key = {8, [](auto, auto key) { std::fill(key.begin(), key.end(), std::byte{1}); }};
  return options;
}

// Waits in the set, and drives the bus, until the reader is ready. Returns its next item.
Result<Item> next_item(WaitSet& set, TestBus& bus, ConflatedReader& reader) {
  for (;;) {
    const Result<Ready> ready = set.wait(kHang);
    REQUIRE(ready.ok());
    if (ready->token == kTurn) {
      bus.turn();
      continue;
    }
    REQUIRE(ready->kind == SourceKind::kConflatedReader);
    return reader.next(Deadline::now());
  }
}

TEST_CASE(
    "A conflated reader takes records in while its set waits, and is ready at the interval's end") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  std::uint64_t now_ns = 1;
  ConflationOptions options = with_one_key(std::chrono::nanoseconds(1000));
  options.now_ns = [&] { return now_ns; };
  SubscriberOptions from_oldest = bus.options();
  from_oldest.wait = WaitStrategy::kPark;
  auto reader = ConflatedReader::open(from_oldest, options);
  REQUIRE(reader.ok());
  WaitSet set = open_set(WaitStrategy::kPark);
  REQUIRE(set.add(*reader, 1).ok());
  REQUIRE(set.add_timer(Deadline::now(), kTurn, std::chrono::milliseconds(2)).ok());
  CHECK(came(next_item(set, bus, *reader)) == EventKind::kSession);
  Result<Item> item = next_item(set, bus, *reader);  // the event ends the interval early
  CHECK(came(item) == ItemKind::kRecord);
  CHECK(item->conflated == 9);
  CHECK(came(next_item(set, bus, *reader)) == EventKind::kCaughtUp);
  bus.publish(20);
  while (reader->counters().records < 30) {
    const Result<Ready> ready = set.wait(kHang);
    REQUIRE(ready->token == kTurn);  // the interval continues
    bus.turn();
  }
  CHECK(reader->waiting() == 1);
  now_ns += 1000;
  item = next_item(set, bus, *reader);
  CHECK(came(item) == ItemKind::kRecord);
  CHECK(item->sequence == 30);
  CHECK(item->conflated == 19);
}

TEST_CASE("The end of a conflated reader's interval ends the sleep of its set") {
  TestBus bus;
  bus.start();
  SubscriberOptions from_oldest = bus.options();
  from_oldest.wait = WaitStrategy::kPark;
  auto reader = ConflatedReader::open(from_oldest, with_one_key(std::chrono::milliseconds(20)));
  REQUIRE(reader.ok());
  WaitSet set = open_set(WaitStrategy::kPark);
  REQUIRE(set.add(*reader, 1).ok());
  const auto turn = set.add_timer(Deadline::now(), kTurn, std::chrono::milliseconds(2));
  REQUIRE(turn.ok());
  CHECK(came(next_item(set, bus, *reader)) == EventKind::kSession);
  CHECK(came(next_item(set, bus, *reader)) == EventKind::kCaughtUp);
  REQUIRE(set.remove(*turn) == Errc::kOk);
  bus.publish(3);
  // No bus rings. Intervals end at multiples of their length. If one ends while the records are
  // read, the first of them are delivered at once, and the last at the next end.
  Result<Item> item = next_item(set, bus, *reader);
  while (item->sequence < 3) {
    item = next_item(set, bus, *reader);
  }
  CHECK(item->sequence == 3);
  CHECK(came(item) == ItemKind::kRecord);
}

}  // namespace
}  // namespace lapwing
