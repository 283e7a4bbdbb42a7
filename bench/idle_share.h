// What a process that waits takes of a core.
//
// Thread safety: one thread; the time of all threads of the process counts.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

#include "bench/machine.h"
#include "os/kernel.h"

namespace lapwing::bench {

inline constexpr std::uint64_t kIdleNs = 30'000'000'000;
inline constexpr std::uint64_t kIdleNsQuick = 300'000'000;
inline constexpr double kIdlePercentMax = 0.1;
inline constexpr std::uint64_t kSettleNs = 1'000'000'000;  // start-up is not idling

inline std::uint64_t cpu_ns() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_usec) * 1000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

// How often this thread has given its core away by itself. That is how a wait that slept is told
// from one that found a record before it did: beside a publisher that makes up for lost time, most
// do.
inline long sleeps_so_far() {
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) fail("getrusage failed");
  return usage.ru_nvcsw;
}

// Runs `wait_until(deadline)` for a second, then for `idle_ns`; percent of a core that this whole
// process took during the latter.
template <typename WaitUntil>
double idle_percent(std::uint64_t idle_ns, WaitUntil&& wait_until) {
  wait_until(monotonic_ns() + std::min(kSettleNs, idle_ns));
  const std::uint64_t cpu_start = cpu_ns();
  const std::uint64_t start = monotonic_ns();
  wait_until(start + idle_ns);
  return 100.0 * static_cast<double>(cpu_ns() - cpu_start) /
         static_cast<double>(monotonic_ns() - start);
}

// What the machine charges for a sleeper that wakes up every `sleep_ns`.
inline double bare_sleeper_percent(std::uint64_t idle_ns, std::uint64_t sleep_ns) {
  const std::uint32_t never = 0;
  return idle_percent(idle_ns, [&](std::uint64_t deadline_ns) {
    for (std::uint64_t now; (now = monotonic_ns()) < deadline_ns;) {
      futex_wait(&never, 0, std::min(sleep_ns, deadline_ns - now));
    }
  });
}

}  // namespace lapwing::bench
