// The machine as a measurement sees it: a cheap clock, cores to be pinned to, and a way out.
//
// Thread safety: free functions, any thread.
//
// Errors: a benchmark that cannot be set up has no result. fail() says why and ends the process
// with exit code 1; there is nothing a caller could do better.
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

// A clock that costs a few nanoseconds and no system call; ns_per_tick() turns it into time.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return monotonic_ns();
#endif
}
// The same, not before all that stands before it has been read: a processor looks at its counter
// while it still waits for a line from the other core, and a record would arrive before it was
// sent.
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
double
timing_ns();  // what ticks() before and ticks_after_reads() behind nothing give; measured once

// The first two cores this process may run on. A machine with one core has the same one twice, and
// rows of two processes mean little there: see has_two_cores().
struct Placement {
  int first;   // of whoever measures
  int second;  // of the other side
};
Placement straight_placement();
inline Placement swapped(Placement placement) {
  return {placement.second, placement.first};
}
bool has_two_cores();
// Every core this process may run on but placement.first; that one where there is no other.
std::vector<int> cores_beside(Placement placement);

// Binds the calling thread; threads and processes it makes afterwards inherit the core.
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
