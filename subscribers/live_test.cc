// Tests a subscriber that requests liveness: the events, and live() itself.
#include <catch2/catch.hpp>
#include <optional>

#include "lapwing/error.h"
#include "lapwing/subscriber.h"
#include "testing/bus_fixture.h"

namespace lapwing {
namespace {

// A subscriber with these limits, which is live after record 10.
struct Live {
  explicit Live(std::uint32_t records, std::chrono::nanoseconds time = kNever,
                OnGap on_gap = OnGap::kFill) {
    bus.start();
    bus.publish(10);
    SubscriberOptions options = bus.options();
    options.behind_records = records;
    options.behind_time = time;
    options.on_gap = on_gap;
    trace.emplace(bus, options);
    REQUIRE(trace->until(EventKind::kLive));
    REQUIRE(trace->lines == Lines{"1..10", "caught-up 10", "live 10"});
    trace->lines.clear();
  }
  TestBus bus;
  std::optional<Trace> trace;
};

// A subscriber that comes from the journal continues in the newer half of the ring.
Sequence bus_half_behind(const TestBus& bus) {
  return bus.head() - TestBus::kCapacity / 2;
}

TEST_CASE("Without a limit neither kLive nor kBehind is delivered") {
  CaughtUp joined(10);
  auto& [bus, trace] = joined;
  bus.publish(900);
  REQUIRE(trace.until_record(910));
  trace.until_quiet();
  CHECK(trace.lines == Lines{"1..10", "caught-up 10", "11..910"});
}

TEST_CASE("A subscriber that falls behind gets an event, and another when it is live again") {
  Live live(100);
  live.bus.publish(300);
  REQUIRE(live.trace->until_record(310));
  live.trace->until_quiet();
  // A look every 64 records: 236 behind at the first look, 44 at the fourth.
  CHECK(live.trace->lines == Lines{"11..74", "behind 74", "75..266", "live 266", "267..310"});
}

TEST_CASE("A subscriber that stays within the limit gets no event") {
  Live live(100);
  for (int i = 0; i < 20; ++i) {
    live.bus.publish(100);
    REQUIRE(live.trace->until_record(live.bus.head()));
  }
  live.trace->until_quiet();
  CHECK(live.trace->lines == Lines{"11..2010"});
}

TEST_CASE("By time, a subscriber is behind if it has not taken records that old") {
  Live live(0, std::chrono::nanoseconds(1));
  live.bus.publish(1000);
  REQUIRE(live.trace->until_record(1010));
  live.trace->until_quiet();
  // The look at 267 notes that 1,010 are published, and the one at 523 that they are not taken.
  CHECK(live.trace->lines == Lines{"11..522", "behind 522", "523..1010", "live 1010"});
}

TEST_CASE("A gap is not live, and after it kLive comes again at the head") {
  const OnGap policy = GENERATE(OnGap::kFill, OnGap::kSkip);
  Live live(2000, kNever, policy);
  live.bus.publish(1536);
  REQUIRE(live.trace->until(EventKind::kLive));
  CHECK(live.trace->lines.front() == "gap 11..649 lapped fillable");
  live.trace->until_quiet();
  CHECK(live.trace->subscriber.position().sequence == 1546);
  CHECK(live.trace->subscriber.live());
}

TEST_CASE("In the journal a subscriber is not live, however large its limit is") {
  Live live(20'000);
  live.bus.publish(6000);
  REQUIRE(live.trace->until(EventKind::kLive));
  CHECK(live.trace->lines.front() == "gap 11..5113 lapped fillable");
  CHECK(live.trace->subscriber.position().sequence > bus_half_behind(live.bus));
}

TEST_CASE("After a gap kLive comes with the first poll that finds nothing") {
  Live live(2000, kNever, OnGap::kSkip);
  live.bus.publish(1536);
  REQUIRE(live.trace->until_record(1546));
  CHECK(came(live.trace->step()) == EventKind::kLive);
}

TEST_CASE("For a finished session, its end is delivered, but not kLive") {
  Live live(100);
  live.bus.publish(188);  // the look at 139 finds 60 more, which are at most half of the limit
  live.bus.close();
  REQUIRE(live.trace->until(EventKind::kClosed));
  CHECK(live.trace->lines == Lines{"11..74", "behind 74", "75..198", "closed 198"});
}

TEST_CASE("After a publisher's death and return the subscriber is live again, with an event") {
  Live live(100);
  auto& [bus, trace] = live;
  bus.publish(3);
  bus.kill();
  REQUIRE(trace->until(EventKind::kPublisherGone));
  bus.recover();
  bus.start();
  REQUIRE(trace->until(EventKind::kLive));
  bus.publish(2);
  REQUIRE(trace->until_record(15));
  trace->until_quiet();
  CHECK(trace->lines == Lines{"11..13", "publisher-gone 13", "session 14", "live 13", "14..15"});
}

TEST_CASE("live() checks the ring itself, for as many records as the limit allows") {
  const std::uint32_t within = GENERATE(0u, 1u, 100u);
  TestBus bus;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.options();
  options.behind_records = within;
  Trace trace(bus, options);
  Subscriber& subscriber = trace.subscriber;
  CHECK_FALSE(subscriber.live());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  trace.until_quiet();
  CHECK(subscriber.live());
  bus.publish(within);
  CHECK(subscriber.live());
  bus.publish(1);
  CHECK_FALSE(subscriber.live());
  REQUIRE(trace.until_record(11));
  CHECK(subscriber.live());
  trace.until_quiet();
  bus.publish(1536);  // laps it
  CHECK_FALSE(subscriber.live());
  REQUIRE(trace.until(EventKind::kGap));
  CHECK_FALSE(subscriber.live());
  REQUIRE(trace.until_record(bus.head()));
  trace.until_quiet();
  CHECK(subscriber.live());
}

TEST_CASE("live() is false once the ring is lapped, however large the limit is") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.options();
  options.behind_records = 1'000'000;
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kLive));
  bus.publish(TestBus::kCapacity - 1);
  CHECK(trace.subscriber.live());
  bus.publish(1);
  CHECK_FALSE(trace.subscriber.live());
  bus.publish(3 * TestBus::kCapacity);
  CHECK_FALSE(trace.subscriber.live());
}

TEST_CASE("live() is false without a publisher") {
  CaughtUp joined(10);
  auto& [bus, trace] = joined;
  trace.until_quiet();
  REQUIRE(trace.subscriber.live());
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  CHECK_FALSE(trace.subscriber.live());
}

TEST_CASE("A batch ends before kBehind, and the next read returns it") {
  Live live(100);
  live.bus.publish(300);
  std::vector<std::byte> rows(56 * 1000);
  const Result<Batch> first = live.trace->subscriber.read(rows, Deadline::now());
  CHECK(first.error() == Errc::kOk);
  CHECK(first->first == 11);
  const Result<Batch> second = live.trace->subscriber.read(rows, Deadline::now());
  REQUIRE(second->kind == ItemKind::kEvent);
  CHECK(second->event->kind == EventKind::kBehind);
  CHECK(second->event->sequence == first->first + first->count - 1);
}

TEST_CASE("A time that is not positive is refused") {
  const std::chrono::nanoseconds time(GENERATE(-1, 0));
  const auto late = Subscriber::open({.directory = "./bus", .behind_time = time});
  CHECK(errc_of(late.status()) == Errc::kInvalidArgument);
  CHECK(late.status().message().find("behind_time is ") != std::string::npos);
  const auto stale = Subscriber::open({.directory = "./bus", .stale_after = time});
  CHECK(errc_of(stale.status()) == Errc::kInvalidArgument);
  CHECK(stale.status().message().find("the value for \"never\"") != std::string::npos);
}

}  // namespace
}  // namespace lapwing
