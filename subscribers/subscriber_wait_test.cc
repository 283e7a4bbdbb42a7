#include "subscribers/subscriber_wait.h"

#include <catch2/catch.hpp>

#include "testing/is_readable.h"
#include "testing/stepped_machine.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kPastNs = 1;  // a deadline that has passed
constexpr std::uint64_t kNeverNs = Deadline::never().monotonic_ns();

// A subscriber that has read everything in the ring.
struct Waiting {
  explicit Waiting(WaitStrategy strategy = WaitStrategy::kPark, Interrupt* interrupt = nullptr)
      : stepped(started(), options_with(strategy)),
        wait(stepped.options, stepped.stream, stepped.machine, interrupt) {
    stepped.until(EventKind::kCaughtUp);
    REQUIRE(stepped.cursor.is_live());
  }
  bool rests() const { return wait.another_rests() && stepped.cursor.attention == 0; }

  TestBus bus;
  SteppedMachine stepped;
  SubscriberWait wait;

 private:
  TestBus& started() {
    bus.start();
    bus.publish(10);
    return bus;
  }
  SubscriberOptions options_with(WaitStrategy strategy) const {
    SubscriberOptions options = bus.options();
    options.wait = strategy;
    return options;
  }
};

TEST_CASE("While one call rests, the attention is 0 and no other call rests") {
  Waiting waiting;
  const Sequence attention = waiting.stepped.cursor.attention;
  const std::optional<WakeUp> wake_up = waiting.wait.prepare();
  REQUIRE(wake_up);
  CHECK(wake_up->word);
  CHECK(waiting.rests());
  CHECK_FALSE(waiting.wait.keep_waiting(kNeverNs, false));
  CHECK(waiting.rests());
  waiting.wait.finish();
  CHECK_FALSE(waiting.wait.another_rests());
  CHECK(waiting.stepped.cursor.attention == attention);
}

TEST_CASE("A call that overlaps a resting one is refused, without disturbing it") {
  Waiting waiting;
  REQUIRE(waiting.wait.prepare());
  waiting.wait.begin();
  waiting.wait.refuse();
  CHECK_FALSE(waiting.wait.keep_waiting(kNeverNs, false));
  CHECK(waiting.wait.why_nothing(kNeverNs) == Errc::kMisuse);
  CHECK(waiting.rests());
}

TEST_CASE("The misuse of a call that overlapped is not that of the resting one") {
  Waiting waiting;
  REQUIRE(waiting.wait.prepare());
  waiting.wait.refuse();
  waiting.wait.finish();
  CHECK(waiting.wait.why_nothing(kPastNs) == Errc::kTimedOut);
}

TEST_CASE("A call returns each reason once, and none of the previous call") {
  Waiting waiting;
  SubscriberWait& wait = waiting.wait;
  wait.begin();
  CHECK_FALSE(wait.keep_waiting(0, false));
  CHECK(wait.why_nothing(0) == Errc::kWouldBlock);
  CHECK_FALSE(wait.keep_waiting(kPastNs, false));
  CHECK(wait.why_nothing(kPastNs) == Errc::kTimedOut);
  wait.interrupt();
  wait.interrupt();
  CHECK_FALSE(wait.keep_waiting(kNeverNs, false));
  CHECK(wait.why_nothing(kNeverNs) == Errc::kInterrupted);
  CHECK(wait.why_nothing(kNeverNs) == Errc::kTimedOut);
  CHECK_FALSE(wait.keep_waiting(kPastNs, false));
  CHECK(wait.why_nothing(kPastNs) == Errc::kTimedOut);
  wait.refuse();
  wait.begin();
  CHECK(wait.why_nothing(kPastNs) == Errc::kTimedOut);
}

TEST_CASE("A shared interrupt ends a call in place of its own") {
  Interrupt shared;
  Waiting waiting(WaitStrategy::kPark, &shared);
  waiting.wait.begin();
  shared.raise();
  CHECK_FALSE(waiting.wait.keep_waiting(kNeverNs, false));
  CHECK(waiting.wait.why_nothing(kNeverNs) == Errc::kInterrupted);
  waiting.wait.interrupt();
  CHECK(shared.take());
}

TEST_CASE("A call that has skipped records does not wait, but ends in time") {
  Waiting waiting;
  CHECK(waiting.wait.keep_waiting(kNeverNs, true));
  CHECK_FALSE(waiting.wait.keep_waiting(kPastNs, true));
  waiting.wait.interrupt();
  CHECK_FALSE(waiting.wait.keep_waiting(kNeverNs, true));
}

TEST_CASE("A limited number of empty polls skip the upkeep, and none after a rest") {
  Waiting waiting;
  waiting.wait.skip_upkeep(2);
  CHECK(waiting.wait.skips_upkeep());
  CHECK(waiting.wait.skips_upkeep());
  CHECK_FALSE(waiting.wait.skips_upkeep());
  waiting.wait.skip_upkeep(2);
  REQUIRE(waiting.wait.prepare());
  waiting.wait.finish();
  CHECK_FALSE(waiting.wait.skips_upkeep());
}

TEST_CASE("A record ends a spin that would skip more polls") {
  Waiting waiting(WaitStrategy::kBusy);
  waiting.bus.publish(1);
  waiting.wait.skip_upkeep(kSpins);
  CHECK(waiting.wait.keep_waiting(kNeverNs, false));
  CHECK(waiting.wait.skips_upkeep());
}

TEST_CASE(
    "Only a waiter that may park has a descriptor, which is armed while there is nothing to read") {
  Waiting busy(WaitStrategy::kBusy);
  CHECK(errc_of(busy.wait.descriptor().status()) == Errc::kInvalidArgument);
  CHECK_FALSE(busy.wait.arm());
  Waiting parked;
  CHECK_FALSE(parked.wait.arm());
  const absl::StatusOr<int> descriptor = parked.wait.descriptor();
  REQUIRE(descriptor.ok());
  CHECK(is_readable(*descriptor));
  CHECK(parked.wait.arm());
  parked.bus.publish(1);
  CHECK_FALSE(parked.wait.arm());
}

}  // namespace
}  // namespace lapwing
