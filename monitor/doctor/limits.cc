#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "monitor/doctor/examination.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kDescriptorsMin = 4096;  // for a publisher with 1,024 subscribers
constexpr uid_t kFirstUserOfPeople = 1000;

// The soft limit in a line of proc/self/limits: "Max open files   1024   4096   files".
std::optional<std::uint64_t> soft_limit(const Machine& machine, const std::string& name) {
  const std::string content = machine.files.text("proc/self/limits").value_or("");
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    std::uint64_t value = 0;
    if (words.empty()) return std::nullopt;
    if (words[0] == "unlimited") return kUnlimited;
    return absl::SimpleAtoi(words[0], &value) ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

Finding locked_memory(const Machine& machine) {
  const std::optional<std::uint64_t> limit = soft_limit(machine, "Max locked memory");
  if (!limit) return unknown_finding("memlock", "proc/self/limits cannot be read");
  const std::string value =
      *limit == kUnlimited ? "unlimited" : absl::StrCat(*limit / kMebibyte, " MiB");
  if (machine.uid == 0 || *limit >= machine.ring_bytes) return good_finding("memlock", value);
  return {"memlock", value, Verdict::kAdvice,
          absl::StrCat("the ring's ", machine.ring_bytes / kMebibyte,
                       " MiB cannot be registered with io_uring: each write of the journal maps "
                       "them again"),
          "ulimit -l unlimited; of a service: LimitMEMLOCK=infinity"};
}

Finding open_files(const Machine& machine) {
  const std::optional<std::uint64_t> limit = soft_limit(machine, "Max open files");
  if (!limit) return unknown_finding("nofile", "proc/self/limits cannot be read");
  const std::string value = *limit == kUnlimited ? "unlimited" : absl::StrCat(*limit);
  if (*limit >= kDescriptorsMin) return good_finding("nofile", value);
  return {
      "nofile", value, Verdict::kAdvice,
      "a publisher serves fewer than 1,024 subscribers: each one needs descriptors",
      absl::StrCat("ulimit -n ", kDescriptorsMin, "; of a service: LimitNOFILE=", kDescriptorsMin)};
}

// The last RemoveIPC line in the file and its drop-in files applies.
bool removes_ipc(const Machine& machine) {
  std::string all = machine.files.text("etc/systemd/logind.conf").value_or("");
  for (const std::string& name : machine.files.names("etc/systemd/logind.conf.d", "")) {
    absl::StrAppend(&all, "\n",
                    machine.files.text("etc/systemd/logind.conf.d/" + name).value_or(""));
  }
  bool removes = true;
  for (absl::string_view line : absl::StrSplit(all, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, "RemoveIPC="))
      removes = line != "no" && line != "false" && line != "0";
  }
  return removes;
}

Finding remove_ipc(const Machine& machine) {
  const std::string name = "remove-ipc";
  if (!machine.files.text("proc/1/comm") || *machine.files.text("proc/1/comm") != "systemd") {
    return good_finding(name, "no systemd");
  }
  if (!removes_ipc(machine)) return good_finding(name, "no");
  if (machine.uid < kFirstUserOfPeople)
    return good_finding(name, "yes, but not of a system's user");
  return {name, "yes", Verdict::kProblem,
          "at your last logout systemd deletes your files in /dev/shm: the ring of a bus that runs",
          "RemoveIPC=no in /etc/systemd/logind.conf and `systemctl restart systemd-logind`, or a "
          "system user for the bus"};
}

// The folder of the process's cgroup v2.
std::optional<std::string> cgroup_of(const Machine& machine) {
  const std::string content = machine.files.text("proc/self/cgroup").value_or("");
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    if (absl::ConsumePrefix(&line, "0::")) return absl::StrCat("sys/fs/cgroup", line);
  }
  return std::nullopt;
}

// The lowest limit of the cgroup and its parents. The root has no limit.
Finding memory_of_cgroup(const Machine& machine) {
  const std::string name = "cgroup-memory";
  std::optional<std::string> folder = cgroup_of(machine);
  if (!folder) return unknown_finding(name, "the process is in no cgroup of version 2");
  std::uint64_t least = kUnlimited;
  while (absl::StartsWith(*folder, "sys/fs/cgroup")) {
    least = std::min(least, machine.files.number(*folder + "/memory.max").value_or(kUnlimited));
    folder = folder->substr(0, folder->rfind('/'));
  }
  if (least == kUnlimited) return good_finding(name, "no limit");
  const std::string value = absl::StrCat(least / kMebibyte, " MiB");
  // The ring is charged to the process that filled it, and a successor adds its own ring.
  if (least >= 3 * machine.ring_bytes) return good_finding(name, value);
  return {
      name, value, Verdict::kProblem,
      absl::StrCat("rings of ", machine.ring_bytes / kMebibyte,
                   " MiB count: a restart beside the old ring may be killed for want of memory"),
      "raise memory.max of the cgroup (of a service: MemoryMax=), or a smaller --capacity"};
}

Finding processors_of_cgroup(const Machine& machine) {
  const std::string name = "cgroup-cpu";
  std::optional<std::string> folder = cgroup_of(machine);
  if (!folder) return unknown_finding(name, "the process is in no cgroup of version 2");
  while (absl::StartsWith(*folder, "sys/fs/cgroup")) {
    const std::string quota = machine.files.text(*folder + "/cpu.max").value_or("max");
    if (!absl::StartsWith(quota, "max")) {
      return {name, quota, Verdict::kProblem,
              "where the quota is used up every thread stops until the period ends",
              "no quota (for a service: no CPUQuota=); assign cores instead: AllowedCPUs="};
    }
    folder = folder->substr(0, folder->rfind('/'));
  }
  return good_finding(name, "no quota");
}

}  // namespace

std::vector<Finding> check_limits(const Machine& machine) {
  return {locked_memory(machine), open_files(machine), remove_ipc(machine),
          memory_of_cgroup(machine), processors_of_cgroup(machine)};
}

}  // namespace lapwing
