// Tests what the ready loop checks and when, how it sleeps, and what ends its sleep.
#include "os/ready_loop.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "lapwing/result.h"
#include "os/thread_words.h"
#include "proto/ring_words.h"
#include "testing/child_process.h"
#include "testing/far_deadline.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kTag = 7;

LoopDescriptors loop_descriptors() {
  auto made = LoopDescriptors::make(Watch::make("for a test"));
  REQUIRE(made.ok());
  return *std::move(made);
}

// Sources that are always ready, or ready once a word is not 0 or a descriptor is ready.
struct LoopOwner {
  explicit LoopOwner(WaitStrategy strategy = WaitStrategy::kPark)
      : loop("test", strategy, loop_descriptors()) {}

  Result<int> check(bool everything) {
    was_everything = everything;
    ++checks;
    if (everything) {
      ++rounds;
      has_descriptor = false;
      std::array<epoll_event, 8> room;
      for (const epoll_event& event : loop.take_ready(room)) {
        has_descriptor = has_descriptor || event.data.u64 == kTag;
      }
    }
    if (always_ready || has_descriptor || (has_word && load_bell(&word) != 0)) return checks;
    return Errc::kWouldBlock;
  }
  void rest(FutexWord bell, std::uint64_t until_ns) {
    ++rests;
    std::vector<FutexWord> words = {bell};
    if (has_word) words.push_back({&word, 0});
    woken = loop.park(words, std::min(until_ns, wakes_at_ns));
  }

  Result<int> wait(std::uint64_t deadline_ns) { return loop.wait(*this, deadline_ns); }
  Errc wait_long() { return wait(far_deadline()).error(); }
  void watch(int fd) { REQUIRE(loop.watch(fd, EPOLLIN, kTag) == 0); }
  // For other threads.
  void ring() {
    bump_bell(&word);
    futex_wake_all(&word);
  }

  ReadyLoop loop;
  bool always_ready = false;
  bool has_word = false;
  bool has_descriptor = false;
  std::uint32_t word = 0;
  std::uint64_t wakes_at_ns = ~std::uint64_t{0};
  bool was_everything = false;
  int checks = 0;
  int rounds = 0;
  int rests = 0;
  std::size_t woken = 0;
};

WaitStrategy any_loop_strategy() {
  return GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
}

TEST_CASE("Every 64th check is of everything, although each finds something") {
  LoopOwner owner(any_loop_strategy());
  owner.always_ready = true;
  for (std::uint32_t i = 0; i < 10 * kChecksPerRound; ++i) {
    REQUIRE(owner.wait(i % 2 == 0 ? 0 : far_deadline()).ok());
    REQUIRE(owner.was_everything == (i % kChecksPerRound == 0));
  }
  CHECK(owner.rounds == 10);
  owner.loop.begin_round();
  CHECK(owner.wait(0).ok());
  CHECK(owner.was_everything);
}

TEST_CASE("A loop returns with nothing only after a check of everything") {
  LoopOwner owner(any_loop_strategy());
  owner.always_ready = true;
  REQUIRE(owner.wait(0).ok());
  REQUIRE(owner.wait(0).ok());
  REQUIRE_FALSE(owner.was_everything);
  owner.always_ready = false;
  CHECK(owner.wait(0).error() == Errc::kWouldBlock);
  CHECK(owner.was_everything);
  CHECK(owner.rests == 0);
  CHECK(owner.wait(1).error() == Errc::kTimedOut);
  CHECK(owner.was_everything);
  CHECK(owner.wait(monotonic_ns() + kNsPerMs).error() == Errc::kTimedOut);
  CHECK(owner.was_everything);
}

TEST_CASE("A loop rests until the moment that its owner names, and checks everything then") {
  LoopOwner owner;
  do {  // until a wait slept: a busy machine may run this thread too late
    owner.rests = 0;
    owner.wakes_at_ns = monotonic_ns() + 20 * kNsPerMs;
    const std::uint64_t deadline_ns = owner.wakes_at_ns + kNsPerMs;
    REQUIRE(owner.wait(deadline_ns).error() == Errc::kTimedOut);
    REQUIRE(monotonic_ns() >= deadline_ns);
    REQUIRE(owner.was_everything);
  } while (owner.rests == 0);
}

// The ways in which a loop sleeps, depending on what its owner waits for.
enum class Sleep { kBell, kWords, kEpoll, kWordsAndHelper };

struct SleepingOwner : LoopOwner {
  SleepingOwner(Sleep sleep, WaitStrategy strategy) : LoopOwner(strategy) {
    has_word = sleep == Sleep::kWords || sleep == Sleep::kWordsAndHelper;
    if (sleep == Sleep::kEpoll || sleep == Sleep::kWordsAndHelper) watch(event.get());
    if (sleep == Sleep::kWordsAndHelper) REQUIRE(loop.start_helper().ok());
  }
  UniqueFd event = make_eventfd().value();
};

TEST_CASE("An interrupt ends the wait under way, however the loop sleeps, or the next, once") {
  const Sleep sleep = GENERATE(Sleep::kBell, Sleep::kWords, Sleep::kEpoll, Sleep::kWordsAndHelper);
  SleepingOwner owner(sleep, any_loop_strategy());
  const auto wait = [&] { return owner.wait_long(); };
  for (int i = 0; i < 3; ++i) {
    CHECK(while_it_waits(wait, [&] { owner.loop.interrupt(); }) == Errc::kInterrupted);
  }
  owner.loop.interrupt();
  owner.loop.interrupt();
  CHECK(owner.wait(0).error() == Errc::kWouldBlock);  // does not wait
  CHECK(wait() == Errc::kInterrupted);
  CHECK(owner.wait(monotonic_ns() + kNsPerMs).error() == Errc::kTimedOut);
}

TEST_CASE("A word that changes ends the sleep of a loop, beside a descriptor as well") {
  SleepingOwner owner(GENERATE(Sleep::kWords, Sleep::kWordsAndHelper), any_loop_strategy());
  CHECK(while_it_waits([&] { return owner.wait_long(); }, [&] { owner.ring(); }) == Errc::kOk);
  CHECK_FALSE(owner.has_descriptor);
}

TEST_CASE("A descriptor that becomes ready ends the sleep of a loop, beside a word as well") {
  SleepingOwner owner(GENERATE(Sleep::kEpoll, Sleep::kWordsAndHelper), any_loop_strategy());
  for (int i = 0; i < 3; ++i) {
    CHECK(while_it_waits([&] { return owner.wait_long(); },
                         [&] { signal_eventfd(owner.event.get()); }) == Errc::kOk);
    CHECK(std::exchange(owner.has_descriptor, false));
    drain_eventfd(owner.event.get());
  }
  owner.loop.stop_watching(owner.event.get());
  signal_eventfd(owner.event.get());
  CHECK(owner.wait(0).error() == Errc::kWouldBlock);
  CHECK_FALSE(owner.loop.watches());
}

TEST_CASE(
    "The descriptor of a loop is readable when a descriptor is ready, or after an interrupt") {
  LoopOwner owner;
  const UniqueFd event = make_eventfd().value();
  owner.watch(event.get());
  std::array<epoll_event, 8> room;
  const auto is_readable = [&] {
    pollfd entry{owner.loop.fd(), POLLIN, 0};
    return poll(&entry, 1, 0) > 0;
  };
  CHECK_FALSE(is_readable());
  owner.loop.interrupt();
  CHECK(is_readable());
  CHECK(owner.loop.take_ready(room).size() == 1);
  CHECK_FALSE(is_readable());
  signal_eventfd(event.get());
  CHECK(is_readable());
}

TEST_CASE("While a wait is under way, other calls are misuse") {
  SleepingOwner owner(GENERATE(Sleep::kWords, Sleep::kEpoll), WaitStrategy::kPark);
  CHECK(owner.loop.enter() == Errc::kOk);
  std::vector<Errc> overlapping;
  const Errc waited = while_it_waits([&] { return owner.wait_long(); },
                                     [&] {
                                       overlapping = {owner.wait(0).error(), owner.loop.enter()};
                                       owner.loop.interrupt();
                                     });
  CHECK(waited == Errc::kInterrupted);
  CHECK(overlapping == std::vector<Errc>(2, Errc::kMisuse));
  REQUIRE(owner.loop.begin_wait());
  CHECK_FALSE(owner.loop.begin_wait());
  CHECK(owner.wait(0).error() == Errc::kMisuse);
  owner.loop.end_wait();
  CHECK(owner.loop.enter() == Errc::kOk);
}

TEST_CASE("A loop is forked in a child, and its parent's goes on") {
  SleepingOwner owner(Sleep::kEpoll, WaitStrategy::kPark);
  ChildProcess child([&] {
    if (owner.wait(0).error() != Errc::kForked || owner.loop.fd() != -1) return __LINE__;
    return owner.loop.enter() == Errc::kForked && owner.checks == 0 ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
  signal_eventfd(owner.event.get());
  CHECK(owner.wait_long() == Errc::kOk);
}

// A bell whose helper watches a descriptor, for a thread that sleeps on the bell directly.
struct HelpedBell {
  HelpedBell() {
    REQUIRE(descriptors.watch.add(event.get(), EPOLLIN, kTag) == 0);
    REQUIRE(helper.start().ok());
    REQUIRE(helper.start().ok());
  }
  bool is_ready() const {
    std::array<epoll_event, 8> room;
    return !descriptors.watch.ready(room).empty();
  }

  Interrupt bell;
  LoopDescriptors descriptors = loop_descriptors();
  UniqueFd event = make_eventfd().value();
  DescriptorBell helper{bell, descriptors.watch.fd(), descriptors.wake_up.get()};
};

TEST_CASE("An armed helper rings the bell once, for what is ready already, too") {
  HelpedBell here;
  const std::uint32_t quiet = here.bell.bell();
  signal_eventfd(here.event.get());
  CHECK(here.bell.bell() == quiet);  // it is not armed
  here.helper.arm();
  for (const std::uint64_t deadline = far_deadline(); here.bell.bell() == quiet;) {
    REQUIRE(monotonic_ns() < deadline);
    here.bell.wait(quiet, kNsPerSecond);
  }
  CHECK(here.bell.bell() == quiet + 1);
  CHECK_FALSE(here.bell.is_raised());
}

TEST_CASE("A helper that is armed anew for each sleep misses no descriptor") {
  constexpr int kRounds = 5000;
  constexpr std::uint64_t kFarNs = 60 * kNsPerSecond;
  HelpedBell here;
  SingleWriterWord taken;
  std::thread signaller([&] {
    for (Word round = 1; round <= kRounds; ++round) {
      signal_eventfd(here.event.get());
      while (taken.load() < round) spin_pause();
      for (Word i = 0; i < round % 64; ++i) spin_pause();  // during the sleep, or before it
    }
  });
  int sleeps = 0;
  int ended_by_clock = 0;
  for (Word round = 1; round <= kRounds;) {
    const FutexWord word = here.bell.word(here.bell.bell());
    if (here.is_ready()) {
      drain_eventfd(here.event.get());
      taken.store(round++);
      continue;
    }
    here.helper.arm();
    const std::uint64_t start = monotonic_ns();
    futex_wait(word.word, word.expected, kFarNs);
    ++sleeps;
    if (monotonic_ns() - start >= kFarNs) ++ended_by_clock;
  }
  signaller.join();
  CHECK(sleeps > 0);
  CHECK(ended_by_clock == 0);
}

}  // namespace
}  // namespace lapwing
