#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "monitor/doctor/examination.h"

namespace lapwing {
namespace {

using KernelVersion = std::pair<unsigned, unsigned>;
constexpr KernelVersion kOldest{5, 14};

// "6.1.0-18-amd64" is 6.1.
KernelVersion version_of(const std::string& release) {
  const std::vector<std::string> parts = absl::StrSplit(release, absl::ByAnyChar(".-"));
  KernelVersion version{0, 0};
  if (parts.size() >= 2) {
    if (!absl::SimpleAtoi(parts[0], &version.first)) version.first = 0;
    if (!absl::SimpleAtoi(parts[1], &version.second)) version.second = 0;
  }
  return version;
}

Finding kernel(const Machine& machine) {
  const std::string release = machine.files.text("proc/sys/kernel/osrelease").value_or("");
  if (release.empty()) return unknown_finding("kernel", "proc/sys/kernel/osrelease cannot be read");
  if (version_of(release) >= kOldest) return good_finding("kernel", release);
  return {"kernel", release, Verdict::kProblem,
          "Lapwing needs Linux 5.14: channels and placed threads fail without it",
          "install a newer kernel"};
}

Finding uring(const Machine& machine) {
  const absl::Status tried = machine.probes.io_uring();
  if (tried.ok()) return good_finding("io_uring", "works");
  const bool is_off = machine.files.number("proc/sys/kernel/io_uring_disabled").value_or(0) != 0;
  return {"io_uring", std::string(tried.message()), Verdict::kProblem,
          "the journal is written by plain system calls, one at a time: a slow disk is felt sooner",
          is_off ? "sysctl kernel.io_uring_disabled=0"
                 : "allow io_uring_setup, io_uring_enter and io_uring_register in the container's "
                   "seccomp profile"};
}

Finding membarrier(const Machine& machine) {
  const absl::Status tried = machine.probes.membarrier();
  if (tried.ok()) return good_finding("membarrier", "works");
  return {"membarrier", std::string(tried.message()), Verdict::kProblem,
          "no publisher can be opened, and a channel pays for a fence with each message",
          "allow membarrier in the container's seccomp profile"};
}

// The good clock sources, including those of guests. All others read a device.
Finding clock_source(const Machine& machine) {
  constexpr std::array<absl::string_view, 4> kGood = {
      "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};
  const auto source =
      machine.files.text("sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!source) return unknown_finding("clock-source", "the kernel does not show which one it uses");
  if (std::find(kGood.begin(), kGood.end(), *source) != kGood.end()) {
    return good_finding("clock-source", *source);
  }
  return {"clock-source", *source, Verdict::kProblem,
          "each reading of the clock takes a system call or a device: stamps and waits are slow",
          "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource; if it is "
          "not offered, `dmesg | grep -i tsc` shows why"};
}

}  // namespace

std::vector<Finding> check_kernel(const Machine& machine) {
  return {kernel(machine), uring(machine), membarrier(machine), clock_source(machine)};
}

}  // namespace lapwing
