#include "monitor/machine_monitor.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "monitor/other_user.h"
#include "os/kernel.h"
#include "proto/ring_words.h"
#include "testing/bus_fixture.h"
#include "testing/far_deadline.h"
#include "testing/other_user.h"

namespace lapwing {
namespace {

// A bus that has a ring but does not answer.
class SilentBus : public TestBus {
 public:
  SilentBus() {
    begin_session();
    publish(5);
  }
};

// Reads until the reading shows a ring for every bus.
MachineReading until_read(MachineMonitor& monitor) {
  const std::uint64_t deadline_ns = far_deadline();
  while (monotonic_ns() < deadline_ns) {
    MachineReading reading = monitor.read(monotonic_ns(), wall_ns());
    bool all = !reading.buses.empty();
    for (const BusReading& bus : reading.buses) all = all && bus.ring.ok();
    if (all) return reading;
    ::usleep(1'000);
  }
  FAIL("in vain");
  return {};
}

TEST_CASE("Buses that are named are read in that order, with a label and a user each") {
  SilentBus first;
  SilentBus second;
  for (const auto& directories : {std::vector{first.directory(), second.directory()},
                                  std::vector{second.directory(), first.directory()}}) {
    auto monitor = MachineMonitor::start({.directories = directories, .users = {}});
    REQUIRE(monitor.ok());
    const MachineReading reading = until_read(*monitor);
    CHECK_FALSE(reading.host.empty());
    REQUIRE(reading.buses.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      const BusReading& bus = reading.buses[i];
      CHECK(bus.directory == directories[i]);
      CHECK(bus.ring->head == 5);
      CHECK(bus.uid == ::geteuid());
      CHECK(bus.user == user_name(::geteuid()));
    }
    CHECK(reading.buses[0].label != reading.buses[1].label);
  }
}

TEST_CASE("A directory that does not exist is a bus that cannot be read") {
  auto monitor = MachineMonitor::start({.directories = {"/nowhere/at/all"}, .users = {}});
  REQUIRE(monitor.ok());
  const MachineReading reading = monitor->read(monotonic_ns(), wall_ns());
  REQUIRE(reading.buses.size() == 1);
  REQUIRE_FALSE(reading.buses[0].ring.ok());
  CHECK(reading.buses[0].ring.status().message().find("/nowhere/at/all") != std::string::npos);
}

TEST_CASE("Publishers whose heartbeats are of another clock are judged together") {
  constexpr std::size_t kBuses = 12;
  std::vector<std::unique_ptr<SilentBus>> buses;
  std::vector<std::string> directories;
  for (std::size_t i = 0; i < kBuses; ++i) {
    buses.push_back(std::make_unique<SilentBus>());
    store_heartbeat(buses.back()->ring->words(), monotonic_ns() + 60'000'000'000);
    directories.push_back(buses.back()->directory());
  }
  auto monitor =
      MachineMonitor::start({.directories = directories, .users = {}, .parts = BusParts::kRing});
  REQUIRE(monitor.ok());
  CHECK_FALSE(monitor->is_settled());
  const std::uint64_t began_ns = monotonic_ns();
  do {
    monitor->sample(monotonic_ns());
    ::usleep(1'000);
  } while (!monitor->is_settled());
  const std::uint64_t took_ns = monotonic_ns() - began_ns;
  CHECK(took_ns >= kHeartbeatProofNs);
  CHECK(took_ns < kBuses * kHeartbeatProofNs);  // the waits were not sequential
  const MachineReading reading = monitor->read(monotonic_ns(), wall_ns());
  REQUIRE(reading.buses.size() == kBuses);
  for (const BusReading& bus : reading.buses) CHECK(bus.state() == PublisherState::kSilent);
}

TEST_CASE("A bus of another user carries that user's name in its label") {
  if (::geteuid() != 0) LAPWING_SKIP("needs root to give a directory to another user");
  SilentBus bus;
  REQUIRE(::chown(bus.directory().c_str(), kTestUser, kTestUser) == 0);
  auto monitor = MachineMonitor::start({.directories = {bus.directory()}, .users = {}});
  REQUIRE(monitor.ok());
  const MachineReading reading = until_read(*monitor);
  CHECK(reading.buses[0].uid == kTestUser);
  CHECK(reading.buses[0].user == std::to_string(kTestUser));
  CHECK(reading.buses[0].label.starts_with(std::to_string(kTestUser) + "/"));
}

TEST_CASE("Of another user an old reading is not shown, and a bus that is not watched neither") {
  SilentBus bus;
  auto other = OtherUser::start(::geteuid());
  REQUIRE(other.ok());
  other->watch({bus.directory()});
  const std::uint64_t deadline_ns = far_deadline();
  const auto read = [&] { return other->read(monotonic_ns()); };
  while (!read().front().ring.ok()) REQUIRE(monotonic_ns() < deadline_ns);
  CHECK(read().front().ring->head == 5);
  CHECK(other->is_settled());
  CHECK(read().front().user == user_name(::geteuid()));
  const auto late = other->read(monotonic_ns() + 2 * kOtherOldNs);
  REQUIRE(late.size() == 1);
  CHECK(late.front().directory == bus.directory());
  CHECK(errc_of(late.front().ring.status()) == Errc::kTimedOut);
  CHECK(errc_of(late.front().publisher.status()) == Errc::kTimedOut);
  other->watch({});
  CHECK(read().empty());
}

}  // namespace
}  // namespace lapwing
