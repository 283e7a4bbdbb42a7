#include "os/waiter.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <memory>

#include "os/kernel.h"
#include "proto/ring_words.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kNeverNs = UINT64_MAX;

std::unique_ptr<RingWords> running_words(Sequence head) {
  auto words = std::make_unique<RingWords>();
  store_head(*words, head);
  store_ring_state(*words, RingState::kRunning);
  return words;
}

// An inaccessible page 1.
class ForbiddenWords {
 public:
  ForbiddenWords()
      : page_(mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(page_ != MAP_FAILED);
  }
  ~ForbiddenWords() { munmap(page_, kPageBytes); }
  ForbiddenWords(const ForbiddenWords&) = delete;
  ForbiddenWords& operator=(const ForbiddenWords&) = delete;

  const RingWords& words() const { return *static_cast<const RingWords*>(page_); }

 private:
  void* page_;
};

// Returns true if the turn slept until its deadline, which only parking does.
bool parks(Waiter& waiter, const RingWords& words, Sequence seen) {
  const std::uint64_t deadline = monotonic_ns() + 20 * kNsPerMs;
  waiter.turn(words, seen, deadline);
  return monotonic_ns() >= deadline;
}

TEST_CASE("A busy waiter never looks at page 1, whose lines the publisher needs") {
  const ForbiddenWords forbidden;
  Waiter waiter(WaitStrategy::kBusy);
  for (std::uint32_t i = 0; i < 2 * kBackoffSpins; ++i) {
    waiter.turn(forbidden.words(), 0, kNeverNs);
    waiter.spin();
  }
  CHECK(waiter.spinning());
}

TEST_CASE("A waiter that backs off spins, yields, parks, and spins again once it got something") {
  const ForbiddenWords forbidden;
  const auto words = running_words(7);
  Waiter waiter(WaitStrategy::kBackoff);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < kBackoffSpins / 2; ++i) waiter.spin();
    for (std::uint32_t i = 0; i < kBackoffSpins - kBackoffSpins / 2; ++i) {
      REQUIRE(waiter.spinning());
      waiter.turn(forbidden.words(), 7, kNeverNs);
    }
    CHECK_FALSE(waiter.spinning());
    for (std::uint32_t i = 0; i < kBackoffYields; ++i) waiter.turn(forbidden.words(), 7, kNeverNs);
    CHECK(parks(waiter, *words, 7));
    CHECK(parks(waiter, *words, 7));
    waiter.reset();
  }
  CHECK(may_park(WaitStrategy::kBackoff));
}

TEST_CASE("A waiter that parks sleeps at once, until its deadline") {
  const auto words = running_words(7);
  Waiter waiter(WaitStrategy::kPark);
  CHECK(parks(waiter, *words, 7));
}

TEST_CASE("A waiter does not park when its deadline has passed") {
  const auto words = running_words(7);
  Waiter waiter(WaitStrategy::kPark);
  for (int i = 0; i < 10'000; ++i) waiter.turn(*words, 7, 0);
  SUCCEED("parks of 100 ms each would be a hang");
}

TEST_CASE("A waiter does not park when head has moved or the session is closed") {
  const auto words = running_words(7);
  Waiter waiter(WaitStrategy::kPark);
  for (int i = 0; i < 10'000; ++i) waiter.turn(*words, 6, kNeverNs);
  store_ring_state(*words, RingState::kClosed);
  for (int i = 0; i < 10'000; ++i) waiter.turn(*words, 7, kNeverNs);
  SUCCEED("parks of 100 ms each would be a hang");
}

TEST_CASE("A park without a deadline ends by itself: a stolen wake-up is a delay, not a hang") {
  const auto words = running_words(7);
  Waiter waiter(WaitStrategy::kPark);
  const std::uint64_t start = monotonic_ns();
  waiter.turn(*words, 7, kNeverNs);
  CHECK(monotonic_ns() - start >= kParkNsMax);
}

}  // namespace
}  // namespace lapwing
