#include "subscribers/call_wait.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

constexpr std::uint64_t kSomeDeadlineNs = 1;

TEST_CASE("While one call rests, the attention is 0 and no other call can rest") {
  CallWait wait(WaitStrategy::kPark);
  Sequence attention = 7;
  {
    const CallWait::Rest first(wait, attention);
    CHECK(first.is_held());
    CHECK(wait.another_rests());
    CHECK(attention == 0);
    const CallWait::Rest second(wait, attention);
    CHECK_FALSE(second.is_held());
  }
  CHECK_FALSE(wait.another_rests());
  CHECK(attention == 7);
}

TEST_CASE("A call that was refused leaves the attention to the call that rests") {
  CallWait wait(WaitStrategy::kPark);
  Sequence attention = 7;
  const CallWait::Rest first(wait, attention);
  {
    const CallWait::Rest second(wait, attention);
  }
  CHECK(attention == 0);
  CHECK(wait.another_rests());
}

TEST_CASE("An interrupt that is shared ends a call in the place of its own") {
  Interrupt shared;
  CallWait wait(WaitStrategy::kPark, &shared);
  wait.begin();
  shared.raise();
  CHECK(wait.take_interrupt());
  CHECK(wait.why_nothing(kSomeDeadlineNs) == Errc::kInterrupted);
  wait.raise();
  CHECK(shared.take());
}

TEST_CASE("A call says why it gave nothing, and the reason is not the next call's") {
  CallWait wait(WaitStrategy::kPark);
  wait.begin();
  CHECK(wait.why_nothing(0) == Errc::kWouldBlock);
  CHECK(wait.why_nothing(kSomeDeadlineNs) == Errc::kTimedOut);
  wait.raise();
  wait.raise();
  CHECK(wait.take_interrupt());
  CHECK(wait.why_nothing(kSomeDeadlineNs) == Errc::kInterrupted);
  CHECK_FALSE(wait.take_interrupt());
  CHECK(wait.why_nothing(kSomeDeadlineNs) == Errc::kTimedOut);
  wait.refuse();
  CHECK(wait.why_nothing(kSomeDeadlineNs) == Errc::kMisuse);
  wait.refuse();
  wait.begin();
  CHECK(wait.why_nothing(kSomeDeadlineNs) == Errc::kTimedOut);
}

}  // namespace
}  // namespace lapwing
