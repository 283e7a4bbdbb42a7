// For tests of the effect of another thread on a waiting call. The other thread begins when the
// call waits, not after a fixed time.
#pragma once

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "testing/far_deadline.h"

namespace lapwing {

// The number of times that a thread of this process has gone to sleep.
inline std::uint64_t sleeps_of(pid_t thread) {
  constexpr char kLabel[] = "voluntary_ctxt_switches:";
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kLabel)) return std::strtoull(&line[sizeof kLabel - 1], nullptr, 10);
  }
  return 0;
}

inline std::uint64_t processor_ns(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(used.tv_nsec);
}

// Processor time that a call only uses if it spins.
inline constexpr std::uint64_t kSpinsNs = 5'000'000;

// Returns the result of `call`. Another thread runs `then` once this one sleeps or spins in the
// call. If it did neither, the test fails, because it tested nothing.
template <typename Call, typename Then>
auto while_it_waits(const Call& call, const Then& then) {
  const pid_t caller = gettid();
  clockid_t clock{};
  REQUIRE(pthread_getcpuclockid(pthread_self(), &clock) == 0);
  std::atomic<bool> begun = false;
  std::atomic<bool> returned = false;
  std::uint64_t sleeps = 0;
  std::uint64_t used_ns = 0;
  bool waited = false;
  std::thread other([&] {
    begun.wait(false);
    for (const std::uint64_t deadline_ns = far_deadline();
         !waited && !returned && monotonic_ns() < deadline_ns;) {
      const bool waits = sleeps_of(caller) > sleeps || processor_ns(clock) > used_ns + kSpinsNs;
      waited = waits && !returned;  // otherwise it sleeps below
    }
    then();
  });
  sleeps = sleeps_of(caller);
  used_ns = processor_ns(clock);
  begun = true;
  begun.notify_one();
  const auto answer = call();
  returned = true;
  other.join();
  INFO("the call did not wait");
  REQUIRE(waited);
  return answer;
}

}  // namespace lapwing
