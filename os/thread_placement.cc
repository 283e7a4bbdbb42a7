#include "os/thread_placement.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/start_thread.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr int kNiceMin = -20;
constexpr int kNiceMax = 19;
constexpr int kPriorityMin = 1;
constexpr int kPriorityMax = 99;

struct PolicyName {
  SchedulingPolicy policy;
  int number;
  const char* name;
  bool is_real_time;
  bool goes_by_nice;
};
constexpr PolicyName kPolicies[] = {
    {SchedulingPolicy::kOther, SCHED_OTHER, "other", false, true},
    {SchedulingPolicy::kBatch, SCHED_BATCH, "batch", false, true},
    {SchedulingPolicy::kIdle, SCHED_IDLE, "idle", false, false},
    {SchedulingPolicy::kFifo, SCHED_FIFO, "fifo", true, false},
    {SchedulingPolicy::kRoundRobin, SCHED_RR, "rr", true, false},
};

// Returns null for an inherited policy.
const PolicyName* find_policy(SchedulingPolicy policy) {
  const auto* const found = std::ranges::find(kPolicies, policy, &PolicyName::policy);
  return found == std::end(kPolicies) ? nullptr : found;
}

absl::Status refuse(const std::string& why) {
  return make_error(Errc::kInvalidArgument, why);
}

// Refuses members that contradict each other or would be ignored.
absl::Status check_members(const ThreadPlacement& placement) {
  const PolicyName* const policy = find_policy(placement.policy);
  if (policy == nullptr && placement.policy != SchedulingPolicy::kInherit) {
    return refuse("threads.policy is not a scheduling policy");
  }
  if (placement.nice && (*placement.nice < kNiceMin || *placement.nice > kNiceMax)) {
    return refuse(absl::StrCat("threads.nice (--thread-nice) is ", *placement.nice, ": give ",
                               kNiceMin, " to ", kNiceMax));
  }
  if (placement.nice && policy != nullptr && !policy->goes_by_nice) {
    return refuse(absl::StrCat("threads.nice (--thread-nice) is set, but the policy ", policy->name,
                               " does not use it. Remove one of them"));
  }
  const bool is_real_time = policy != nullptr && policy->is_real_time;
  if (!is_real_time && placement.priority != 0) {
    return refuse(
        "threads.priority (--thread-priority) is set, but only the policies fifo and rr use it. "
        "Choose one of them, or remove it");
  }
  const bool in_bounds = placement.priority >= kPriorityMin && placement.priority <= kPriorityMax;
  if (is_real_time && !in_bounds) {
    return refuse(absl::StrCat("the policy ", policy->name,
                               " needs a threads.priority (--thread-priority) of ", kPriorityMin,
                               " to ", kPriorityMax));
  }
  return absl::OkStatus();
}

CpuMask allowed_here() {
  CpuMask mask;
  sched_getaffinity(0, CpuMask::size_bytes(), mask.get());
  return mask;
}

// Returns the processors that the process may use: the ones that remain if all are requested.
std::string allowed_at_all() {
  std::vector<unsigned> all(kCpusMax);
  for (unsigned cpu = 0; cpu < kCpusMax; ++cpu) all[cpu] = cpu;
  sched_setaffinity(0, CpuMask::size_bytes(), CpuMask(all).get());
  return cpu_list_text(allowed_here().cpus());
}

absl::Status refuse_cpu(unsigned cpu) {
  return refuse(
      absl::StrCat("threads.cpus (--thread-cpus) names processor ", cpu,
                   ", but this process may only use ", allowed_at_all(),
                   "; name some of those, or, if the machine has it, add it to the cpuset "
                   "of the process's cgroup"));
}

// Checks the result, because the kernel silently ignores processors in the list that it does not
// allow.
absl::Status set_cpus(const std::vector<unsigned>& cpus) {
  if (cpus.empty()) return absl::OkStatus();
  const auto beyond = std::ranges::find_if(cpus, [](unsigned cpu) { return cpu >= kCpusMax; });
  if (beyond != cpus.end()) return refuse_cpu(*beyond);
  const int set = sched_setaffinity(0, CpuMask::size_bytes(), CpuMask(cpus).get());
  if (set != 0 && errno != EINVAL) {
    return make_system_error(errno, "placing threads on threads.cpus (--thread-cpus)");
  }
  const std::vector<unsigned> got = allowed_here().cpus();
  for (const unsigned cpu : cpus) {
    if (!std::ranges::binary_search(got, cpu)) return refuse_cpu(cpu);
  }
  return absl::OkStatus();
}

absl::Status set_policy(const ThreadPlacement& placement) {
  const PolicyName* const policy = find_policy(placement.policy);
  if (policy == nullptr) return absl::OkStatus();
  sched_param parameters{};
  parameters.sched_priority = placement.priority;
  if (sched_setscheduler(0, policy->number, &parameters) == 0) return absl::OkStatus();
  const int sys_errno = errno;
  const std::string what = absl::StrCat("threads.policy (--thread-policy) ", policy->name);
  if (sys_errno != EPERM) return make_system_error(sys_errno, what);
  return make_error(
      Errc::kNotPermitted,
      policy->is_real_time
          ? absl::StrCat(
                what, " with priority ", placement.priority,
                " needs CAP_SYS_NICE, or a limit (ulimit -r) of at least that, and a cgroup "
                "with time for real-time threads; grant it, or choose another policy")
          : absl::StrCat(what,
                         " is refused to a thread with its present policy; grant CAP_SYS_NICE, or "
                         "choose another policy"));
}

absl::Status set_nice(const ThreadPlacement& placement) {
  if (!placement.nice) return absl::OkStatus();
  const int now = getpriority(PRIO_PROCESS, 0);
  if (setpriority(PRIO_PROCESS, 0, *placement.nice) == 0) return absl::OkStatus();
  const int sys_errno = errno;
  const std::string what = absl::StrCat("threads.nice (--thread-nice) ", *placement.nice);
  if (sys_errno != EACCES && sys_errno != EPERM) return make_system_error(sys_errno, what);
  return make_error(
      Errc::kNotPermitted,
      absl::StrCat(what, " is below the present ", now,
                   ", which needs CAP_SYS_NICE or a limit (ulimit -e) of at least ",
                   kNiceMax + 1 - *placement.nice, "; grant it, or give ", now, " or more"));
}

}  // namespace

std::vector<unsigned> CpuMask::cpus() const {
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < kCpusMax; ++cpu) {
    if (CPU_ISSET_S(cpu, size_bytes(), get())) cpus.push_back(cpu);
  }
  return cpus;
}

absl::Status place_this_thread(const ThreadPlacement& placement) {
  absl::Status status = check_members(placement);
  if (status.ok()) status = set_cpus(placement.cpus);
  if (status.ok()) status = set_policy(placement);
  return status.ok() ? set_nice(placement) : status;
}

absl::Status check_placement(const ThreadPlacement& placement) {
  if (placement == ThreadPlacement{}) return absl::OkStatus();
  std::thread thread;
  const absl::Status status =
      start_thread(thread, "lapwing-probe", [] {}, {.placement = placement});
  if (thread.joinable()) thread.join();
  return status;
}

}  // namespace lapwing
