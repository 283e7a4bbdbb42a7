#include "bench/machine.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kCalibrationNs = 50'000'000;
constexpr std::size_t kTimings = 10'001;

double calibrate() {
  const std::uint64_t start_ns = monotonic_ns();
  const std::uint64_t start_ticks = ticks();
  std::uint64_t end_ns = start_ns;
  while (end_ns - start_ns < kCalibrationNs) end_ns = monotonic_ns();
  return static_cast<double>(end_ns - start_ns) / static_cast<double>(ticks() - start_ticks);
}

std::vector<int> allowed_cores() {
  // Queried once, before any thread is pinned.
  static const std::vector<int> cores = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> found;
    if (sched_getaffinity(0, sizeof set, &set) != 0) fail("sched_getaffinity failed");
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(static_cast<unsigned>(core), &set)) found.push_back(core);
    }
    return found;
  }();
  return cores;
}

}  // namespace

double ns_per_tick() {
  static const double measured = calibrate();
  return measured;
}

double timing_ns() {
  static const double measured = [] {
    std::array<std::uint64_t, kTimings> durations;
    for (std::uint64_t& duration : durations) {
      const std::uint64_t start = ticks();
      duration = ticks_after_reads() - start;
    }
    const auto middle = durations.begin() + kTimings / 2;
    std::nth_element(durations.begin(), middle, durations.end());
    return static_cast<double>(*middle) * ns_per_tick();
  }();
  return measured;
}

bool has_two_cores() {
  return allowed_cores().size() >= 2;
}

Placement straight_placement() {
  const std::vector<int> cores = allowed_cores();
  return {cores.front(), cores[has_two_cores() ? 1 : 0]};
}

std::vector<int> cores_beside(Placement placement) {
  std::vector<int> cores = allowed_cores();
  if (has_two_cores()) std::erase(cores, placement.first);
  return cores;
}

void pin_to_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    fail(absl::StrCat("cannot pin to core ", core, ": ", std::strerror(errno)));
  }
}

void fail(const std::string& message) {
  std::fprintf(stderr, "lapwing_bench: %s\n", message.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

}  // namespace lapwing::bench
