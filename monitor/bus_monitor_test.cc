// Tests how far behind subscribers are, on a bus that uses the test's clock.
#include "monitor/bus_monitor.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <vector>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "proto/ring_words.h"
#include "testing/asked_bus.h"

namespace lapwing {
namespace {

// A bus with 1,000 records published before the watch began, and 100 in each tenth of the first
// second.
class WatchedBus {
 public:
  WatchedBus() {
    bus.start();
    bus.publish(1'000);
    monitor.sample(began_ns);
    for (std::uint64_t i = 1; i <= 10; ++i) {
      bus.publish(100);
      bus.beat();
      monitor.sample(began_ns + i * kSampleNs);
    }
  }
  // The client must exist. A client that no longer reports does not send a head.
  void report(Sequence position, Sequence head = kNoSequence) {
    ReportFrame report = report_frame(position);
    report.head = head;
    clients_.push_back(reporting(bus, "client", false, report));
  }
  BusReading read(std::uint64_t after_ns) {
    bus.beat();
    return beside(bus, [&] { return monitor.read(began_ns + after_ns); });
  }
  SubscriberStatus only(std::uint64_t after_ns) {
    BusReading reading = read(after_ns);
    REQUIRE(reading.publisher.ok());
    REQUIRE(reading.publisher->subscribers.size() == 1);
    return reading.publisher->subscribers.front();
  }

  TestBus bus;
  BusMonitor monitor{bus.directory()};
  const std::uint64_t began_ns = monotonic_ns();

 private:
  std::vector<ControlClient> clients_;
};

TEST_CASE("However often it is read, it does not ask so often that the publisher drops it") {
  WatchedBus watched;
  watched.report(1'499);
  for (std::uint64_t i = 0; i < 10 * kFramesPerSecondMax; ++i) {
    const BusReading reading = watched.read(kNsPerSecond + i * 1'000'000);
    INFO(i);
    REQUIRE(reading.publisher.ok());
    REQUIRE(reading.publisher->subscribers.size() == 1);
    REQUIRE(reading.publisher->clients_dropped == 0);
  }
}

TEST_CASE("A subscriber's delay is the time for which its next record has been published") {
  WatchedBus watched;
  watched.report(1'499);  // record 1,500 was published half a second after the watch began
  CHECK_FALSE(watched.only(5 * kNsPerSecond).is_far_behind());
  const SubscriberStatus reading = watched.only(10 * kNsPerSecond);
  CHECK(reading.observed.lag == 501);
  CHECK(reading.observed.delay_ns == 10 * kNsPerSecond - kNsPerSecond / 2);
  CHECK_FALSE(reading.observed.delay_is_longer);
  CHECK_FALSE(reading.is_stopped());
  CHECK(reading.is_far_behind());
}

TEST_CASE("Who joins is not far behind, however old what it reads is") {
  SubscriberStatus reading;
  reading.observed.delay_ns = 10 * kNsPerSecond;
  reading.state = ClientState::kJoining;
  CHECK_FALSE(reading.is_far_behind());
  reading.state = ClientState::kFilling;
  CHECK(reading.is_far_behind());
}

TEST_CASE("Who was behind before the watch began has been longer than that") {
  WatchedBus watched;
  watched.report(999);
  const SubscriberStatus reading = watched.only(10 * kNsPerSecond);
  CHECK(reading.observed.delay_ns == 10 * kNsPerSecond);
  CHECK(reading.observed.delay_is_longer);
}

TEST_CASE("Who has everything has no delay, however long nothing has come") {
  WatchedBus watched;
  watched.report(2'000);
  const SubscriberStatus reading = watched.only(100 * kNsPerSecond);
  CHECK(reading.observed.lag == 0);
  CHECK(reading.observed.delay_ns == 0);
}

TEST_CASE("What a subscriber has just said is held against the head that it saw") {
  WatchedBus watched;
  watched.report(1'499, 1'510);
  const SubscriberStatus reading = watched.only(10 * kNsPerSecond);
  REQUIRE(reading.observed.is_recent);
  CHECK(reading.observed.lag == 11);
  CHECK(reading.observed.delay_ns == 10'000'000);
}

TEST_CASE("A lag that grows has a rate from the second reading on") {
  WatchedBus watched;
  watched.report(1'500);
  CHECK(watched.only(kNsPerSecond).observed.lag_rate == 0);
  watched.bus.publish(300);
  CHECK(watched.only(3 * kNsPerSecond).observed.lag_rate == Approx(150));
  CHECK(watched.only(5 * kNsPerSecond).observed.lag_rate == Approx(0));
}

TEST_CASE("A bus is followed from one publisher to the next") {
  WatchedBus watched;
  BusReading reading = watched.read(kNsPerSecond);
  CHECK(reading.description.name == "test");
  CHECK(reading.state() == PublisherState::kRunning);
  CHECK(reading.rate == Approx(1'000));
  REQUIRE(reading.ring.ok());
  CHECK(reading.ring->head == 2'000);
  watched.bus.close();
  reading = watched.monitor.read(watched.began_ns + 2 * kNsPerSecond);
  CHECK(errc_of(reading.ring.status()) == Errc::kNotFound);
  CHECK(errc_of(reading.publisher.status()) == Errc::kPublisherGone);
  watched.bus.start();
  watched.bus.publish(5);
  reading = watched.read(4 * kNsPerSecond);
  REQUIRE(reading.ring.ok());
  CHECK(reading.ring->head == 2'005);
  CHECK(reading.state() == PublisherState::kRunning);
  REQUIRE(reading.publisher.ok());
  CHECK(reading.publisher->subscribers.empty());
}

TEST_CASE("A publisher that is silent is not asked, and what its ring said last stays") {
  WatchedBus watched;
  watched.bus.beating = false;
  store_heartbeat(watched.bus.ring->words(), monotonic_ns() - 5 * kNsPerSecond);
  const BusReading reading = watched.monitor.read(watched.began_ns + 2 * kNsPerSecond);
  REQUIRE(reading.ring.ok());
  CHECK(reading.ring->head == 2'000);
  CHECK(reading.state() == PublisherState::kSilent);
  CHECK(errc_of(reading.publisher.status()) == Errc::kPublisherGone);
}

TEST_CASE("A directory that holds no bus is read as that, again and again") {
  const TemporaryDirectory directory;
  BusMonitor monitor(directory.path());
  for (std::uint64_t i = 0; i < 3; ++i) {
    CHECK(errc_of(monitor.read(i * kReattachNs).ring.status()) == Errc::kNoBus);
  }
}

}  // namespace
}  // namespace lapwing
