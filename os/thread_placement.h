// Applies a ThreadPlacement.
//
// A placement is checked by applying it and reading it back. A placement that the kernel would
// apply only in part, such as a list of processors of which only one is allowed, is refused.
//
// Thread safety: free functions.
// Errors of both: kInvalidArgument, kNotPermitted, kUnsupported, kSystem. The message names the
// member of PublisherOptions::threads or SubscriberOptions::threads, the command-line option, and
// what to do.
#pragma once

#include <sched.h>

#include <array>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/thread_placement.h"
#include "os/cpu_list.h"

namespace lapwing {

// A set of processors in the kernel's format, large enough for every kernel.
class CpuMask {
 public:
  CpuMask() = default;
  // The numbers are below kCpusMax.
  explicit CpuMask(const std::vector<unsigned>& cpus) {
    for (const unsigned cpu : cpus) CPU_SET_S(cpu, size_bytes(), get());
  }
  cpu_set_t* get() { return sets_.data(); }
  const cpu_set_t* get() const { return sets_.data(); }
  static constexpr std::size_t size_bytes() { return sizeof(CpuMask); }
  std::vector<unsigned> cpus() const;

 private:
  std::array<cpu_set_t, kCpusMax / CPU_SETSIZE> sets_{};
};

// Applies this placement to the calling thread. After an error, the thread may have part of it or a
// different set of processors, and must end.
absl::Status place_this_thread(const ThreadPlacement& placement);

// Checks whether that succeeds, on a thread that ends at once. Errors: also kLimit (no thread).
absl::Status check_placement(const ThreadPlacement& placement);

}  // namespace lapwing
