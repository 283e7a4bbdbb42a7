// Where the library's own threads run, and how the kernel schedules them.
//
//   auto publisher = lapwing::Publisher::open(
//       {.directory = "./es", .threads = {.cpus = {2, 3}, .nice = 5}});
//
// Placed are the threads that the library starts, and the threads that the kernel starts for its
// io_uring. Threads of the program are not: a program that pins its publishing thread does so
// itself. docs/how-to/tune-a-machine.md names the threads, and has a worked example.
//
// What cannot be is refused when the object is opened: kInvalidArgument (a processor that this
// process may not use; members that contradict each other), kNotPermitted (the right for it is
// missing), kUnsupported (the kernel cannot). The message names the member.
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
  kInherit = 0,     // that of the thread that opens the object
  kOther = 1,       // SCHED_OTHER, the kernel's default
  kBatch = 2,       // SCHED_BATCH: wakes less promptly
  kIdle = 3,        // SCHED_IDLE: runs when nothing else does
  kFifo = 4,        // SCHED_FIFO, real time
  kRoundRobin = 5,  // SCHED_RR, real time
};

// What a member does not say is inherited from the thread that opens the object.
struct ThreadPlacement {
  // Numbers of processors, as in /proc/cpuinfo; empty: inherited. May name processors that the
  // opening thread is kept from, but none that the process is kept from (cpuset of its cgroup).
  std::vector<unsigned> cpus = {};
  // -20 (favoured) to 19. Below the present value it needs CAP_SYS_NICE or RLIMIT_NICE. Refused
  // with kIdle, kFifo and kRoundRobin, which do not go by it.
  std::optional<int> nice = {};
  SchedulingPolicy policy = SchedulingPolicy::kInherit;
  // 1 to 99 (favoured) with kFifo and kRoundRobin, which need CAP_SYS_NICE or RLIMIT_RTPRIO; else
  // 0.
  int priority = 0;

  friend bool operator==(const ThreadPlacement&, const ThreadPlacement&) = default;
};

}  // namespace lapwing
