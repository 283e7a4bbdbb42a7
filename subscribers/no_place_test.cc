// A publisher with the maximum number of clients. An additional client follows the ring and the
// journal without a connection.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "os/kernel.h"
#include "subscribers/bus_search.h"
#include "subscribers/publisher_watch.h"
#include "testing/bus_fixture.h"
#include "testing/control_fixture.h"
#include "testing/far_deadline.h"

namespace lapwing {
namespace {

constexpr rlim_t kDescriptors = 272;  // lets a publisher accept this many clients:
constexpr std::size_t kPlaces = 16;

// Clients that take up every client slot of a bus while the object exists.
class Crowd {
 public:
  explicit Crowd(TestBus& bus) : limit_(kDescriptors) {
    for (std::size_t i = 0; i < kPlaces; ++i) {
      clients_.emplace_back(bus.directory() + "/" + kControlSocketName);
      REQUIRE(clients_.back().send(hello_frame()));
      while (bus.server->subscriber_count() == i) bus.turn();
      clients_.back().expect<WelcomeFrame>(FrameType::kWelcome);
    }
    REQUIRE(bus.server->subscriber_count() == kPlaces);
  }

 private:
  DescriptorLimit limit_;
  std::vector<BareClient> clients_;
};

std::string first_words(Trace& trace) {
  REQUIRE(trace.until(EventKind::kSession));
  return trace.text;
}

TEST_CASE("A subscriber without a client slot gets every record, and reports that it has none") {
  TestBus bus;
  bus.start();
  bus.publish(5000);
  const Crowd crowd(bus);
  Trace trace(bus, bus.options());
  const std::string words = first_words(trace);
  CHECK(words.find("follows ring and journal without a connection") != std::string::npos);
  CHECK(words.find("16 clients, its limit") != std::string::npos);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.says("not durable yet"));
  bus.publish(5);
  REQUIRE(trace.until_record(5005));
  CHECK(trace.lines == Lines{"1..5000", "caught-up 5000", "5001..5005"});
  CHECK(bus.server->subscriber_count() == kPlaces);
}

TEST_CASE(
    "Records that were durable when a subscriber without a client slot joined need no message") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  bus.archive(100);
  const Crowd crowd(bus);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.text.empty());
}

TEST_CASE("A subscriber without a client slot is lapped and filled like any other") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  const Crowd crowd(bus);
  Trace trace(bus, bus.options(Start::live()));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.publish(5 * TestBus::kCapacity);
  REQUIRE(trace.until_record(bus.head()));
  CHECK(trace.subscriber.counters().lost == 0);
  CHECK(trace.subscriber.counters().filled > 0);
  CHECK(trace.subscriber.counters().first == 11);
  CHECK(trace.subscriber.counters().records == 5 * TestBus::kCapacity);
}

TEST_CASE("Without a journal a subscriber without a client slot reads the ring") {
  TestBus bus(/*with_journal=*/false);
  bus.start();
  bus.publish(10);
  const Crowd crowd(bus);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until_record(10));
  bus.publish(5);
  REQUIRE(trace.until_record(15));
  CHECK(trace.lines == Lines{"1..10", "caught-up 10", "11..15"});
}

TEST_CASE("A close ends the session of a subscriber without a client slot") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.options();
  options.end_at_close = true;
  Trace trace(bus, options);
  {
    const Crowd crowd(bus);
    REQUIRE(trace.until(EventKind::kCaughtUp));
    bus.publish(5);
    bus.close();
  }
  REQUIRE(trace.until(Came::kEnd));
  CHECK(trace.lines == Lines{"1..10", "caught-up 10", "11..15", "closed 15", "ended 15"});
}

TEST_CASE(
    "A silent heartbeat shows a subscriber without a client slot that its publisher is gone") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  Trace trace(bus, bus.options());
  {
    const Crowd crowd(bus);
    REQUIRE(trace.until(EventKind::kCaughtUp));
    bus.publish(5);
    bus.beating = false;  // stopped, but its socket still exists
    store_heartbeat(bus.ring->words(), monotonic_ns() - 2 * kHeartbeatLostNs);
    REQUIRE(trace.until(EventKind::kPublisherGone));
    bus.kill();
  }
  trace.until_quiet();
  const std::uint64_t remains_ns = monotonic_ns() + 2 * kRemainsGraceNs;  // it finds the remains
  while (monotonic_ns() < remains_ns) (void)trace.step();
  bus.recover();
  bus.beating = true;
  bus.start();
  bus.publish(5);
  REQUIRE(trace.until_record(20));
  CHECK(trace.lines ==
        Lines{"1..10", "caught-up 10", "11..15", "publisher-gone 15", "session 16", "16..20"});
  CHECK(bus.server->subscriber_count() == 1);  // the next publisher has a slot for it
  CHECK(trace.text.empty());
}

TEST_CASE("A subscriber without a client slot gets a free one, and has missed nothing") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  Trace trace(bus, bus.options());
  {
    const Crowd crowd(bus);
    REQUIRE(trace.until(EventKind::kCaughtUp));
    bus.publish(5 * TestBus::kCapacity);  // a gap, reported once there is a slot
    REQUIRE(trace.until_record(bus.head()));
    CHECK(bus.server->gaps_reported() == 0);
  }
  const std::uint64_t deadline_ns = far_deadline();
  const auto has_place = [&] { return bus.server->subscriber_count() == 1; };
  while (!has_place() && monotonic_ns() < deadline_ns) (void)trace.step();
  CHECK(has_place());
  while (bus.server->gaps_reported() == 0 && monotonic_ns() < deadline_ns) (void)trace.step();
  CHECK(bus.server->gaps_reported() == 1);
  bus.publish(5);
  REQUIRE(trace.until_record(bus.head()));
  CHECK(trace.subscriber.counters().records == bus.head());
  CHECK(trace.subscriber.counters().reattached == 0);
}

TEST_CASE("When several sessions are read in turn, the missing client slot is reported once") {
  TestBus bus;
  for (int i = 0; i < 3; ++i) {
    bus.start();
    bus.publish(10);
    if (i < 2) bus.close();
  }
  const Crowd crowd(bus);
  Trace trace(bus, bus.options());
  CHECK(first_words(trace).find("without a connection") != std::string::npos);
  for (int i = 1; i < 3; ++i) {
    REQUIRE(trace.until(EventKind::kSession));
    CHECK(trace.text.empty());
  }
  REQUIRE(trace.until_record(30));
}

TEST_CASE("If the ring is not the publisher's, a refused subscriber retries once a second") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  const Crowd crowd(bus);
  REQUIRE(bus.ring->unlink().ok());
  Trace trace(bus, bus.options());
  const std::uint64_t deadline_ns = far_deadline();
  const auto refusals = [&] { return bus.server->drops().count(DropReason::kTooManyClients); };
  while (refusals() == 0 && monotonic_ns() < deadline_ns) (void)trace.step();
  const std::uint64_t until_ns = monotonic_ns() + kRefusedIntervalNs / 2;
  while (monotonic_ns() < until_ns) (void)trace.step();
  CHECK(refusals() == 1);
}

TEST_CASE("A subscriber without a client slot reports a failed journal like others") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  bus.fail_journal();
  const Crowd crowd(bus);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.says("has failed"));
  CHECK(trace.says("Restart the publisher"));
}

TEST_CASE("A dropped subscriber returns without a client slot, and misses nothing") {
  CaughtUp joined(10);
  auto& [bus, trace] = joined;
  bus.server.reset();
  bus.open_socket();
  const Crowd crowd(bus);
  trace.until_quiet();
  CHECK(trace.subscriber.counters().reattached == 1);
  bus.publish(5 * TestBus::kCapacity);
  REQUIRE(trace.until_record(bus.head()));
  CHECK(trace.subscriber.counters().lost == 0);
  CHECK(bus.server->subscriber_count() == kPlaces);
}

TEST_CASE("A wait of a subscriber without a client slot ends with a record, without a doorbell") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  const Crowd crowd(bus);
  SubscriberOptions options = bus.options();
  options.wait = WaitStrategy::kPark;
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  trace.until_quiet();
  const auto fd = trace.subscriber.fd();
  REQUIRE(fd.ok());
  for (int i = 0; i < 3; ++i) {
    while (!trace.subscriber.arm()) (void)trace.step();
    bus.publish(1);
    wait_readable(*fd, 60'000'000'000);
    REQUIRE(trace.until_record(bus.head()));
  }
}

}  // namespace
}  // namespace lapwing
