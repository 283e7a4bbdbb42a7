// Joining, filling a gap and reattaching, each interrupted at every step. Together, the delivered
// and the lost records must be exactly the published ones.
#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "lapwing/error.h"
#include "lapwing/subscriber.h"
#include "testing/bus_fixture.h"

namespace lapwing {
namespace {

constexpr int kHandshakeSteps = 12;  // by the test's bus and the subscriber, until the latter reads

// Every sequence from 1 to `last` was delivered once, as a record or in a loss.
void check_all_of(const Trace& trace, Sequence last) {
  const SubscriberCounters& counters = trace.subscriber.counters();
  CHECK(counters.first == 1);
  CHECK(counters.last == last);
  CHECK(counters.records + counters.lost == last);
  CHECK(counters.duplicates == 0);
  CHECK(counters.out_of_order == 0);
}

std::size_t times_delivered(const Trace& trace, const std::string& event) {
  return static_cast<std::size_t>(
      std::count_if(trace.lines.begin(), trace.lines.end(),
                    [&](const std::string& line) { return line.rfind(event, 0) == 0; }));
}

TEST_CASE("After a publisher's kill at any step of the handshake, all its records are delivered") {
  const int steps = GENERATE(range(0, kHandshakeSteps));
  const bool comes_back = GENERATE(true, false);
  TestBus bus;
  bus.start();
  bus.publish(3000);
  SubscriberOptions options = bus.options();
  if (!comes_back) options.reattach = std::chrono::nanoseconds(0);
  Trace trace(bus, options);
  for (int i = 0; i < steps; ++i) (void)trace.step();
  bus.publish_without_head(3);
  bus.kill();
  if (comes_back) {
    bus.recover();
    bus.start();
    bus.publish(10);
    REQUIRE(trace.until_record(3013));
    REQUIRE(trace.until_attached());
    trace.until_quiet();
    check_all_of(trace, 3013);
  } else {
    CHECK_FALSE(trace.until(EventKind::kStale));
    check_all_of(trace, 3003);
  }
  CHECK(trace.subscriber.counters().lost == 0);
  CHECK(times_delivered(trace, "caught-up") == 1);
}

TEST_CASE("The search for a publisher that dies in every greeting ends soon after the deadline") {
  TestBus bus;
  bus.begin_session();
  SubscriberOptions options = bus.options();
  options.reattach = std::chrono::nanoseconds(50'000'000);
  Subscriber subscriber = open_subscriber(options);
  Result<Item> item = Errc::kWouldBlock;
  const std::uint64_t deadline_ns = monotonic_ns() + 60'000'000'000;  // limits a hang
  while (came(item) == Came::kNothing && monotonic_ns() < deadline_ns) {
    bus.open_socket();
    const std::size_t listening = open_descriptors();
    while (came(item) == Came::kNothing && open_descriptors() == listening) {
      item = subscriber.next(Deadline::now());
    }
    bus.kill();
    if (came(item) == Came::kNothing)
      item = subscriber.next(Deadline::now());  // detects the end of its greeting
  }
  CHECK(came(item) == Came::kEnd);
  CHECK(errc_of(subscriber.status()) == Errc::kNoBus);
}

TEST_CASE("A power cut at any step of the handshake loses exactly what is reported") {
  const int steps = GENERATE(range(0, kHandshakeSteps));
  TestBus bus;
  bus.start();
  bus.publish(500);
  bus.archive(200);
  bus.flush = FlushManner::kIgnore;
  Trace trace(bus, bus.options());
  for (int i = 0; i < steps; ++i) (void)trace.step();
  bus.kill();
  bus.cut(200);
  bus.flush = FlushManner::kAnswer;
  bus.start();
  const Sequence first = bus.next();
  bus.publish(10);
  REQUIRE(trace.until_record(first + 9));
  trace.until_quiet();
  check_all_of(trace, first + 9);
  CHECK(times_delivered(trace, "lost") == 1);
  CHECK(times_delivered(trace, "caught-up") == 1);
}

TEST_CASE("Two restarts within one search for the next session are reported one after the other") {
  const int steps = GENERATE(range(0, kHandshakeSteps));  // into the greeting of the first restart
  CaughtUp joined(10);
  auto& [bus, trace] = joined;
  bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  bus.recover();
  bus.start();
  bus.publish(10);
  for (int i = 0; i < steps; ++i) (void)trace.step();
  bus.kill();
  bus.recover();
  bus.start();
  bus.publish(10);
  REQUIRE(trace.until_record(30));
  trace.until_quiet();
  check_all_of(trace, 30);
  CHECK(trace.subscriber.counters().lost == 0);
  CHECK(trace.subscriber.counters().sessions == 3);
  CHECK(times_delivered(trace, "session 11") == 1);
  CHECK(times_delivered(trace, "session 21") == 1);
  CHECK(times_delivered(trace, "reset") == 0);
}

TEST_CASE("Records of a stopped publisher that continued before the next greeting are not a gap") {
  CaughtUp joined(5);
  auto& [bus, trace] = joined;
  bus.beating = false;
  store_heartbeat(bus.ring->words(), 1);
  REQUIRE(trace.until(EventKind::kPublisherGone));
  (void)trace.step();  // sends Hello to a publisher that does not respond
  bus.publish(5000);
  bus.beating = true;
  REQUIRE(trace.until_record(5005));
  CHECK(trace.lines == Lines{"1..5", "caught-up 5", "publisher-gone 5", "6..5005"});
}

TEST_CASE("Records published after a publisher was declared gone are read after its end") {
  // The session was left because of silence or a closed socket, and then closes or dies.
  const auto [stopped, closes] =
      GENERATE(std::pair{true, true}, std::pair{true, false}, std::pair{false, true});
  CaughtUp joined(5);
  auto& [bus, trace] = joined;
  if (stopped) {
    bus.beating = false;
    store_heartbeat(bus.ring->words(), 1);
  } else {
    bus.kill();
  }
  REQUIRE(trace.until(EventKind::kPublisherGone));
  bus.publish(10);
  closes ? bus.close() : bus.kill();
  REQUIRE(trace.until(closes ? EventKind::kClosed : EventKind::kPublisherGone));
  trace.until_quiet();
  CHECK(trace.lines == Lines{"1..5", "caught-up 5", "publisher-gone 5", "6..15",
                             closes ? "closed 15" : "publisher-gone 15"});
}

TEST_CASE("Records pruned while a gap is being filled are lost, and the rest of it is filled") {
  CaughtUp joined(10);
  auto& [bus, trace] = joined;
  bus.publish(5000);
  REQUIRE(trace.until(EventKind::kGap));
  REQUIRE(trace.until_record(11));  // the rest of a segment is read at once
  bus.prune_below_segment(3);
  trace.until_quiet();
  const Sequence resume = 5010 - 1024 + 128;
  CHECK(trace.lines == Lines{"1..10", "caught-up 10",
                             absl::StrCat("gap 11..", resume - 1, " lapped fillable"), "11..1024",
                             "lost 1025..3072 pruned", "3073..5010"});
  const SubscriberCounters& counters = trace.subscriber.counters();
  CHECK(counters.gaps == 1);
  CHECK(counters.lost == 2048);
  CHECK(counters.filled + counters.lost == resume - 11);
  check_all_of(trace, 5010);
}

TEST_CASE("A gap that a publisher's death interrupts is still filled, and counted once") {
  CaughtUp joined(10);
  auto& [bus, trace] = joined;
  bus.publish(5000);
  REQUIRE(trace.until(EventKind::kGap));
  REQUIRE(trace.until_record(11));
  bus.kill();
  bus.recover();
  bus.start();
  bus.publish(10);
  REQUIRE(trace.until_record(5020));
  const SubscriberCounters& counters = trace.subscriber.counters();
  CHECK(counters.gaps == 1);
  CHECK(counters.filled == 5010 - 1024 + 128 - 11);
  CHECK(counters.lost == 0);
  check_all_of(trace, 5020);
}

}  // namespace
}  // namespace lapwing
