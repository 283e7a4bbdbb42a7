// Tests which phases the steps lead to. splice_test.cc, subscriber_sessions_test.cc,
// snapshot_join_test.cc and others test the calls, and therefore what a subscriber delivers.
#include "subscribers/subscriber_machine.h"

#include <catch2/catch.hpp>

#include "lapwing/error.h"
#include "testing/stepped_machine.h"

namespace lapwing {
namespace {

using Phases = std::vector<Phase>;

constexpr std::uint64_t kReattachNs = 1'000'000'000;

TEST_CASE("The first join leads from the search over the flush into the ring") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  SteppedMachine stepped(bus, bus.options());
  CHECK_FALSE(stepped.machine.is_introduced());
  stepped.until(EventKind::kCaughtUp);
  CHECK(stepped.phases == Phases{Phase::kSeeking, Phase::kFlushing, Phase::kLive});
  CHECK(stepped.events == std::vector{EventKind::kSession, EventKind::kCaughtUp});
  CHECK(stepped.machine.is_introduced());
  CHECK(stepped.cursor.next == 11);
}

TEST_CASE("A join far behind the ring reads the journal first, then the ring") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  SteppedMachine stepped(bus, bus.options());
  stepped.until(EventKind::kCaughtUp);
  CHECK(stepped.phases == Phases{Phase::kSeeking, Phase::kFlushing, Phase::kCatchUp, Phase::kLive});
}

TEST_CASE("A search ends when `reattach` has passed, by the time that the caller passes") {
  TestBus bus;
  SubscriberOptions options = bus.options();
  options.reattach = std::chrono::nanoseconds(kReattachNs);
  SteppedMachine stepped(bus, options);
  SubscriberMachine& machine = stepped.machine;
  CHECK(machine.step({}, 1).kind == Step::Kind::kIdle);
  CHECK(machine.pause_from(1)->until_ns <= 1 + kSearchIntervalNs);
  CHECK(machine.step({}, kReattachNs).kind == Step::Kind::kIdle);
  CHECK(machine.step({}, kReattachNs + 1).kind == Step::Kind::kMoved);
  CHECK(stepped.cursor.phase == Phase::kEnded);
  CHECK(errc_of(stepped.stream.status) == Errc::kNoBus);
  CHECK_FALSE(machine.pause_from(1));
  CHECK(machine.step({}, kReattachNs + 2).kind == Step::Kind::kMoved);
  CHECK(stepped.stream.take_event().kind == DueKind::kEnd);
}

TEST_CASE("A lap after the join leads to the phase that the policy requires") {
  const auto [policy, phase] = GENERATE(table<OnGap, Phase>({{OnGap::kFill, Phase::kCatchUp},
                                                             {OnGap::kSkip, Phase::kLive},
                                                             {OnGap::kStop, Phase::kEnded}}));
  TestBus bus;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.options();
  options.on_gap = policy;
  SteppedMachine stepped(bus, options);
  stepped.until(EventKind::kCaughtUp);
  bus.publish(3 * TestBus::kCapacity);
  stepped.until(EventKind::kGap);
  CHECK(stepped.cursor.phase == phase);
  CHECK(stepped.stream.outbox.gap().first == 11);
  CHECK(errc_of(stepped.stream.status) ==
        (policy == OnGap::kStop ? Errc::kStoppedAtGap : Errc::kOk));
}

TEST_CASE("A lap during the join leads to the journal, whatever the policy") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.options();
  options.on_gap = OnGap::kStop;
  SteppedMachine stepped(bus, options);
  stepped.until(Phase::kLive);
  bus.publish(3 * TestBus::kCapacity);
  stepped.until(Phase::kCatchUp);
  stepped.until(Phase::kLive);
  CHECK_FALSE(stepped.has(EventKind::kGap));
}

TEST_CASE("The end of a session leads to the search, and the next session into the stream") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  SteppedMachine stepped(bus, bus.options());
  stepped.until(EventKind::kCaughtUp);
  bus.kill();
  stepped.until(Phase::kSeeking);
  CHECK(stepped.stream.head() == kNoSequence);
  bus.recover();
  bus.start();
  bus.publish(10);
  stepped.until(Phase::kLive);
  CHECK(stepped.phases ==
        Phases{Phase::kSeeking, Phase::kFlushing, Phase::kLive, Phase::kSeeking, Phase::kLive});
  CHECK(stepped.has(EventKind::kPublisherGone));
  CHECK(stepped.stream.head() == 20);
}

TEST_CASE("A step without room copies nothing, and is not idle while there are records") {
  const std::uint64_t published = GENERATE(10U, 3000U);  // in the ring, and in the journal
  TestBus bus;
  bus.start();
  bus.publish(published);
  SteppedMachine stepped(bus, bus.options());
  stepped.until(published == 10 ? Phase::kLive : Phase::kCatchUp);
  CHECK(stepped.machine.may_read());
  const Sequence next = stepped.cursor.next;
  const Step step = stepped.machine.step({}, monotonic_ns());
  CHECK(step.kind == Step::Kind::kRecords);
  CHECK(step.records == 0);
  CHECK(stepped.cursor.next == next);
}

}  // namespace
}  // namespace lapwing
