// The processors, priority and scheduling policy of the library's threads.
//
//   auto publisher = lapwing::Publisher::open(
//       {.directory = "./es", .threads = {.cpus = {2, 3}, .nice = 5}});
//
// A placement applies to the threads that the library starts, and to the threads that the kernel
// starts for the library's io_uring. It does not apply to the program's own threads: pin your
// publishing thread yourself. See docs/how-to/tune-a-machine.md for the threads and an example.
//
// An impossible placement is refused when the object is opened, and the message names the member.
// kInvalidArgument: a processor that this process may not use, or members that contradict each
// other. kNotPermitted: the process lacks the right. kUnsupported: the kernel does not support it.
//
// The terms are those of the kernel: sched_setaffinity(2), sched(7), setpriority(2).
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lapwing {

enum class SchedulingPolicy : std::uint32_t {
  kInherit = 0,     // inherited from the thread that opens the object
  kOther = 1,       // SCHED_OTHER, the kernel's default
  kBatch = 2,       // SCHED_BATCH: wakes less promptly
  kIdle = 3,        // SCHED_IDLE: runs when nothing else does
  kFifo = 4,        // SCHED_FIFO, real time
  kRoundRobin = 5,  // SCHED_RR, real time
};

// A member that is not set is inherited from the thread that opens the object.
struct ThreadPlacement {
  // Processor numbers, as in /proc/cpuinfo; empty: inherited. May include processors outside the
  // opening thread's affinity, but not outside the process's cgroup (cpuset).
  std::vector<unsigned> cpus = {};
  // -20 (favoured) to 19. A value below the current one needs CAP_SYS_NICE or RLIMIT_NICE. Refused
  // with kIdle, kFifo and kRoundRobin, which ignore it.
  std::optional<int> nice = {};
  SchedulingPolicy policy = SchedulingPolicy::kInherit;
  // 1 to 99 (favoured) with kFifo and kRoundRobin, which need CAP_SYS_NICE or RLIMIT_RTPRIO;
  // otherwise 0.
  int priority = 0;

  friend bool operator==(const ThreadPlacement&, const ThreadPlacement&) = default;
};

}  // namespace lapwing
