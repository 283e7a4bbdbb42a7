#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "monitor/doctor/examination.h"

namespace lapwing {
namespace {

constexpr char kProcessors[] = "sys/devices/system/cpu";
constexpr std::uint64_t kWakeMicrosecondsMax = 10;
constexpr double kStealShareMax = 0.01;

Finding governor(const Machine& machine) {
  std::set<std::string> governors;
  for (const std::string& processor : machine.files.names(kProcessors, "cpu")) {
    const auto said =
        machine.files.text(absl::StrCat(kProcessors, "/", processor, "/cpufreq/scaling_governor"));
    if (said) governors.insert(*said);
  }
  if (governors.empty())
    return unknown_finding("governor", "the host, or the firmware, sets the frequency");
  const std::string value = absl::StrJoin(governors, ",");
  if (value == "performance") return good_finding("governor", value);
  return {"governor", value, Verdict::kProblem,
          "a core that was idle runs slowly at first: the first records after a pause are late",
          "cpupower frequency-set -g performance"};
}

// The longest wake-up time of an idle core, across all enabled idle states.
Finding idle_states(const Machine& machine) {
  const std::string folder = absl::StrCat(kProcessors, "/cpu0/cpuidle");
  std::uint64_t slowest = 0;
  const std::vector<std::string> states = machine.files.names(folder, "state");
  if (states.empty())
    return unknown_finding("idle-states", "the host decides how deeply a core sleeps");
  for (const std::string& state : states) {
    const std::string path = absl::StrCat(folder, "/", state);
    if (machine.files.number(path + "/disable").value_or(0) != 0) continue;
    slowest = std::max(slowest, machine.files.number(path + "/latency").value_or(0));
  }
  const std::string value = absl::StrCat("up to ", slowest, " us");
  if (slowest <= kWakeMicrosecondsMax) return good_finding("idle-states", value);
  return {"idle-states", value, Verdict::kAdvice,
          "so long a sleeping core takes to wake up: a parked subscriber is late by that",
          absl::StrCat("cpupower idle-set -D ", kWakeMicrosecondsMax,
                       ", or hold /dev/cpu_dma_latency open with the value 0")};
}

Finding isolated(const Machine& machine) {
  const std::string cores = machine.files.text(absl::StrCat(kProcessors, "/isolated")).value_or("");
  if (!cores.empty()) return good_finding("isolcpus", cores);
  return {"isolcpus", "none", Verdict::kAdvice,
          "the kernel runs other work on the publishing thread's core",
          "on the kernel's command line: isolcpus=domain,managed_irq,3 nohz_full=3 rcu_nocbs=3, "
          "and the publishing thread on core 3"};
}

Finding smt(const Machine& machine) {
  const auto active = machine.files.number(absl::StrCat(kProcessors, "/smt/active"));
  if (!active)
    return unknown_finding("smt", "the kernel does not show whether cores share their units");
  if (*active == 0) return good_finding("smt", "off");
  return {"smt", "on", Verdict::kAdvice,
          "two threads share a core: a busy neighbour slows the publishing thread",
          "leave the sibling of its core idle (sys/devices/system/cpu/cpuN/topology/"
          "thread_siblings_list), or: echo off > /sys/devices/system/cpu/smt/control"};
}

Finding numa(const Machine& machine) {
  const std::string nodes = machine.files.text("sys/devices/system/node/online").value_or("0");
  if (nodes == "0") return good_finding("numa", "one node");
  return {"numa", absl::StrCat("nodes ", nodes), Verdict::kAdvice,
          "a reader on another node takes each line over the link between them",
          "numactl --cpunodebind=0 --membind=0 for publisher and readers; `lapwing publish "
          "--thread-cpus` for the library's threads"};
}

// The share of time since boot that the hypervisor gave to other guests.
Finding steal(const Machine& machine) {
  constexpr std::size_t kSteal = 8;  // user nice system idle iowait irq softirq steal; user is 1
  const std::string stat = machine.files.text("proc/stat").value_or("");
  const std::vector<std::string> words =
      absl::StrSplit(stat.substr(0, stat.find('\n')), ' ', absl::SkipEmpty());
  if (words.size() <= kSteal) return unknown_finding("steal", "proc/stat cannot be read");
  double all = 0;
  double stolen = 0;
  for (std::size_t i = 1; i <= kSteal; ++i) {
    double ticks = 0;
    if (!absl::SimpleAtod(words[i], &ticks))
      return unknown_finding("steal", "proc/stat has an unknown format");
    all += ticks;
    if (i == kSteal) stolen = ticks;
  }
  const double share = all > 0 ? stolen / all : 0;
  const std::string value = absl::StrFormat("%.2f %% of the time since the start", 100 * share);
  if (share <= kStealShareMax) return good_finding("steal", value);
  return {"steal", value, Verdict::kProblem,
          "the host takes cores away for milliseconds at a time: no setting here helps",
          "ask the host for dedicated cores, or move"};
}

}  // namespace

std::vector<Finding> check_processors(const Machine& machine) {
  return {governor(machine), idle_states(machine), isolated(machine),
          smt(machine),      numa(machine),        steal(machine)};
}

}  // namespace lapwing
