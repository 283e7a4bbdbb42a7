// The wait set as its user sees it: descriptors, timers, refusals, moves and forks.
#include "lapwing/wait_set.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/unique_fd.h"
#include "testing/child_process.h"
#include "testing/far_deadline.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

constexpr Deadline kPast = Deadline::at_monotonic_ns(1);

WaitSet open_waiting_set(WaitStrategy wait = WaitStrategy::kPark) {
  auto opened = WaitSet::open({.wait = wait});
  REQUIRE(opened.ok());
  return *std::move(opened);
}

TEST_CASE("An empty set waits until its deadline, in every way to wait") {
  WaitSet set =
      open_waiting_set(GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark));
  CHECK(set.wait(std::chrono::milliseconds(5)).error() == Errc::kTimedOut);
  CHECK(set.wait(kPast).error() == Errc::kTimedOut);
  CHECK(set.wait(Deadline::now()).error() == Errc::kWouldBlock);
  CHECK(set.size() == 0);
}

TEST_CASE("A descriptor is ready with its events, until it is read or removed") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  WaitSet set = open_waiting_set();
  const auto source = set.add_fd(out.get(), POLLIN, 42);
  REQUIRE(source.ok());
  CHECK(set.wait(Deadline::now()).error() == Errc::kWouldBlock);
  REQUIRE(write(in.get(), "x", 1) == 1);
  for (int i = 0; i < 2; ++i) {
    const Result<Ready> ready = set.wait(kHang);
    CHECK(ready.ok());
    CHECK(ready->kind == SourceKind::kDescriptor);
    CHECK(ready->token == 42);
    CHECK(ready->source == *source);
    CHECK(ready->events == POLLIN);
  }
  char byte = 0;
  REQUIRE(read(out.get(), &byte, 1) == 1);
  CHECK(set.wait(Deadline::now()).error() == Errc::kWouldBlock);
  in.reset();
  CHECK((set.wait(kHang)->events & POLLHUP) != 0);  // whether or not it was requested
  CHECK(set.remove(*source) == Errc::kOk);
  CHECK(set.wait(Deadline::now()).error() == Errc::kWouldBlock);
  CHECK(set.remove(*source) == Errc::kNotFound);
}

TEST_CASE("A descriptor that was closed first does not take another one with it") {
  WaitSet set = open_waiting_set();
  UniqueFd first = make_eventfd().value();
  const int number = first.get();
  const auto closed = set.add_fd(number, POLLIN, 1);
  REQUIRE(closed.ok());
  first.reset();
  const UniqueFd second = make_eventfd().value();
  REQUIRE(second.get() == number);
  REQUIRE(set.add_fd(number, POLLIN, 2).ok());
  CHECK(set.remove(*closed) == Errc::kOk);
  signal_eventfd(second.get());
  CHECK(set.wait(kHang)->token == 2);
}

TEST_CASE("Events that poll has not are refused, and none at all") {
  WaitSet set = open_waiting_set();
  const UniqueFd event = make_eventfd().value();
  for (const std::uint32_t events : {0U, 1U << 31, POLLIN | (1U << 30)}) {
    const absl::Status refused = set.add_fd(event.get(), events, 1).status();
    CHECK(errc_of(refused) == Errc::kInvalidArgument);
    CHECK(refused.message().find("POLLIN") != absl::string_view::npos);
  }
  CHECK(errc_of(set.add_fd(-1, POLLIN, 1).status()) == Errc::kInvalidArgument);
  CHECK(set.size() == 0);
}

TEST_CASE("A timer is ready once, or at each period, and says how many have passed") {
  WaitSet set = open_waiting_set(GENERATE(WaitStrategy::kBusy, WaitStrategy::kPark));
  const auto once = set.add_timer(std::chrono::milliseconds(2), 1);
  REQUIRE(once.ok());
  const Result<Ready> first = set.wait(kHang);
  CHECK(first->kind == SourceKind::kTimer);
  CHECK(first->token == 1);
  CHECK(first->expirations == 1);
  CHECK(set.wait(std::chrono::milliseconds(5)).error() == Errc::kTimedOut);
  REQUIRE(set.set_timer(*once, Deadline::now()) == Errc::kOk);
  CHECK(set.wait(kHang)->token == 1);
  CHECK(set.remove(*once) == Errc::kOk);
  CHECK(set.set_timer(*once, kPast) == Errc::kNotFound);

  const std::uint64_t start_ns = monotonic_ns();
  const auto every =
      set.add_timer(Deadline::at_monotonic_ns(start_ns), 2, std::chrono::milliseconds(1));
  REQUIRE(every.ok());
  std::uint64_t expirations = 0;
  while (expirations < 5) {
    const Result<Ready> tick = set.wait(kHang);
    REQUIRE(tick->token == 2);
    REQUIRE(tick->expirations > 0);
    expirations += tick->expirations;
  }
  CHECK(expirations <= 1 + (monotonic_ns() - start_ns) / kNsPerMs);
  REQUIRE(set.set_timer(*every, Deadline::never()) == Errc::kOk);
  CHECK(set.wait(std::chrono::milliseconds(5)).error() == Errc::kTimedOut);
}

TEST_CASE("A descriptor is no timer") {
  WaitSet set = open_waiting_set();
  const UniqueFd event = make_eventfd().value();
  const auto source = set.add_fd(event.get(), POLLIN, 1);
  REQUIRE(source.ok());
  CHECK(set.set_timer(*source, kPast) == Errc::kNotFound);
}

TEST_CASE("A set that is moved keeps its sources") {
  WaitSet first = open_waiting_set();
  const UniqueFd event = make_eventfd().value();
  REQUIRE(first.add_fd(event.get(), POLLIN, 1).ok());
  WaitSet second = std::move(first);
  signal_eventfd(event.get());
  CHECK(second.wait(kHang)->token == 1);
  first = open_waiting_set();
  CHECK(first.wait(Deadline::now()).error() == Errc::kWouldBlock);
}

WaitSet* interrupted_by_signal = nullptr;

TEST_CASE("A signal handler may end the wait that it interrupts") {
  WaitSet set = open_waiting_set();
  const UniqueFd event = make_eventfd().value();
  const bool sleeps_in_epoll = GENERATE(false, true);
  if (sleeps_in_epoll) REQUIRE(set.add_fd(event.get(), POLLIN, 1).ok());
  interrupted_by_signal = &set;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { interrupted_by_signal->interrupt(); };
  REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);
  const pthread_t waiting = pthread_self();
  CHECK(while_it_waits([&] { return set.wait(kHang).error(); },
                       [&] { pthread_kill(waiting, SIGUSR1); }) == Errc::kInterrupted);
  REQUIRE(sigaction(SIGUSR1, &before, nullptr) == 0);
}

TEST_CASE("Every call of a wait set is forked in a child, which has none of its descriptors") {
  WaitSet set = open_waiting_set();
  const UniqueFd event = make_eventfd().value();
  const auto source = set.add_fd(event.get(), POLLIN, 1);
  REQUIRE(source.ok());
  ChildProcess child([&] {
    if (set.wait(Deadline::never()).error() != Errc::kForked) return __LINE__;
    if (errc_of(set.add_timer(kPast, 1).status()) != Errc::kForked) return __LINE__;
    if (errc_of(set.add_fd(0, POLLIN, 1).status()) != Errc::kForked) return __LINE__;
    if (set.set_timer(*source, kPast) != Errc::kForked) return __LINE__;
    if (set.remove(*source) != Errc::kForked || set.size() != 0) return __LINE__;
    set.interrupt();
    auto own = WaitSet::open();
    if (!own.ok() || !own->add_timer(kPast, 7).ok()) return __LINE__;
    set = *std::move(own);
    return set.wait(kHang)->token == 7 ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
  signal_eventfd(event.get());
  CHECK(set.wait(kHang)->token == 1);
}

}  // namespace
}  // namespace lapwing
