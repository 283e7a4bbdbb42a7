#include "subscribers/publisher_watch.h"

#include <catch2/catch.hpp>

#include "os/kernel.h"
#include "testing/attached_bus.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kStaleNs = 1000;

struct Watched : AttachedBus {
  Watched() {
    start_ns = monotonic_ns();
    bus.beat();
    watch.attach(true);
    watch.start(0, start_ns);
  }
  // True if it is stale at start_ns + ns, with `records` delivered.
  bool stale_at(std::uint64_t ns, std::uint64_t records) {
    return watch.stale_due(attachment, records, start_ns + ns);
  }
  PublisherWatch watch{std::chrono::nanoseconds(kStaleNs)};
  std::uint64_t start_ns;
};

TEST_CASE("A publisher that is silent too long is stale once, and again after a record") {
  Watched watched;
  CHECK_FALSE(watched.stale_at(kStaleNs - 1, 0));
  CHECK(watched.stale_at(kStaleNs, 0));
  CHECK_FALSE(watched.stale_at(3 * kStaleNs, 0));
  CHECK_FALSE(watched.stale_at(4 * kStaleNs, 1));
  CHECK(watched.stale_at(5 * kStaleNs, 1));
}

TEST_CASE("A publisher whose heartbeat stopped is lost and not stale") {
  Watched watched;
  const std::uint64_t now = monotonic_ns();
  CHECK_FALSE(watched.watch.stale_due(watched.attachment, 0, now + kHeartbeatFreshNs + 1));
  watched.watch.look(watched.attachment, now + kHeartbeatLostNs + 1);
  CHECK(watched.watch.ending() == Ending::kSilent);
}

TEST_CASE("A socket is checked again after a while, and a closed one ends the session") {
  Watched watched;
  watched.watch.look(watched.attachment, watched.start_ns);
  watched.bus.kill();
  watched.watch.look(watched.attachment, watched.start_ns + kSocketCheckNs - 1);
  CHECK_FALSE(watched.watch.ended());
  watched.watch.look(watched.attachment, watched.start_ns + kSocketCheckNs);
  CHECK(watched.watch.ending() == Ending::kHungUp);
}

TEST_CASE("A ring marked as closed ends the session at once, and nothing changes that end") {
  Watched watched;
  watched.watch.look(watched.attachment, watched.start_ns);
  store_ring_state(watched.bus.ring->words(), RingState::kClosed);
  watched.bus.kill();
  watched.watch.look(watched.attachment, watched.start_ns + 1);
  CHECK(watched.watch.ending() == Ending::kClosed);
  watched.watch.look(watched.attachment, watched.start_ns + kSocketCheckNs);
  CHECK(watched.watch.ending() == Ending::kClosed);
}

TEST_CASE("The session of a dead publisher has ended, and is never stale") {
  Watched watched;
  watched.watch.attach(false);
  CHECK(watched.watch.ending() == Ending::kRemains);
  CHECK_FALSE(watched.stale_at(kStaleNs, 0));
}

}  // namespace
}  // namespace lapwing
