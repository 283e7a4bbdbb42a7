// The processor time of a waiting process.
//
// Thread safety: one thread. The times of all threads in the process are included.
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
inline constexpr std::uint64_t kSettleNs = 1'000'000'000;  // excludes the start-up

inline std::uint64_t cpu_ns() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_usec) * 1000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

// The number of times that this thread has given up its core voluntarily. This distinguishes a wait
// that slept from one that found a record first, as most waits do while a publisher catches up.
inline long sleeps_so_far() {
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) fail("getrusage failed");
  return usage.ru_nvcsw;
}

// Runs `wait_until(deadline)` for a second, then for `idle_ns`. Returns the percentage of a core
// that the whole process used during the latter.
template <typename WaitUntil>
double idle_percent(std::uint64_t idle_ns, WaitUntil&& wait_until) {
  wait_until(monotonic_ns() + std::min(kSettleNs, idle_ns));
  const std::uint64_t cpu_start = cpu_ns();
  const std::uint64_t start = monotonic_ns();
  wait_until(start + idle_ns);
  return 100.0 * static_cast<double>(cpu_ns() - cpu_start) /
         static_cast<double>(monotonic_ns() - start);
}

// The cost of a process that only wakes up every `sleep_ns`.
inline double bare_sleeper_percent(std::uint64_t idle_ns, std::uint64_t sleep_ns) {
  const std::uint32_t never = 0;
  return idle_percent(idle_ns, [&](std::uint64_t deadline_ns) {
    for (std::uint64_t now; (now = monotonic_ns()) < deadline_ns;) {
      futex_wait(&never, 0, std::min(sleep_ns, deadline_ns - now));
    }
  });
}

}  // namespace lapwing::bench
