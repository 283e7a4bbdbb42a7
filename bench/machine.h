// Access to the machine for measurements: a fast clock, pinning to cores, and failure.
//
// Thread safety: free functions, any thread.
//
// Errors: a benchmark that cannot be set up has no result. fail() prints the reason and ends the
// process with exit code 1.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include "os/kernel.h"
#endif

namespace lapwing::bench {

// A clock that takes a few nanoseconds and no system call. ns_per_tick() converts it to time.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return monotonic_ns();
#endif
}
// The same, but only after all earlier reads have completed. Otherwise a processor may read its
// counter while it is still waiting for a line from the other core, so that a record seems to
// arrive before it was sent.
inline std::uint64_t ticks_after_reads() {
#if defined(__x86_64__)
  _mm_lfence();
#endif
  return ticks();
}
double ns_per_tick();  // measured once, against CLOCK_MONOTONIC
inline double ms_between(std::uint64_t from_ticks, std::uint64_t to_ticks) {
  return static_cast<double>(to_ticks - from_ticks) * ns_per_tick() / 1e6;
}
double timing_ns();  // cost of ticks() and ticks_after_reads() with nothing in between

// The first two cores that this process may use. On a machine with one core both are the same, and
// rows with two processes are hardly meaningful: see has_two_cores().
struct Placement {
  int first;   // core of the measuring side
  int second;  // core of the other side
};
Placement straight_placement();
inline Placement swapped(Placement placement) {
  return {placement.second, placement.first};
}
bool has_two_cores();
// Every core that this process may use except placement.first; only that one if there is no other.
std::vector<int> cores_beside(Placement placement);

// Binds the calling thread. Threads and processes that it creates afterwards inherit the core.
void pin_to_core(int core);

[[noreturn]] void fail(const std::string& message);

template <typename T>
T value_or_fail(absl::StatusOr<T> result) {
  if (!result.ok()) fail(result.status().ToString());
  return *std::move(result);
}
inline void ok_or_fail(const absl::Status& status) {
  if (!status.ok()) fail(status.ToString());
}

}  // namespace lapwing::bench
