// The findings about simulated machines: files below a folder, and probes with fixed results.
#include "monitor/doctor/examination.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

using Files = std::map<std::string, std::string>;

constexpr std::uint64_t kRingBytes = std::uint64_t{64} << 20;
constexpr uid_t kPerson = 1000;

const Files& files_of_a_good_machine() {
  static const Files files = {
      {"proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"},
      {"proc/1/comm", "systemd\n"},
      {"proc/stat", "cpu  1000 0 1000 90000 0 0 0 10 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\n"},
      {"proc/meminfo",
       "MemTotal: 16000000 kB\nSwapTotal: 0 kB\nHugePages_Free: 40\n"
       "Hugepagesize: 2048 kB\n"},
      {"proc/self/limits",
       "Limit                     Soft Limit   Hard Limit   Units\n"
       "Max open files            4096         1048576      files\n"
       "Max locked memory         unlimited    unlimited    bytes\n"},
      {"proc/self/cgroup", "0::/user.slice/bus.service\n"},
      {"proc/self/mounts",
       "/dev/sda1 / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n"
       "/dev/sdb1 /data xfs rw 0 0\n"},
      {"etc/systemd/logind.conf", "[Login]\n#RemoveIPC=yes\nRemoveIPC=no\n"},
      {"sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"},
      {"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"},
      {"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"},
      {"sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2\n"},
      {"sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "0\n"},
      {"sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "100\n"},
      {"sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1\n"},
      {"sys/devices/system/cpu/isolated", "3\n"},
      {"sys/devices/system/cpu/smt/active", "0\n"},
      {"sys/devices/system/node/online", "0\n"},
      {"sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size [advise] never\n"},
      {"sys/fs/cgroup/user.slice/bus.service/memory.max", "max\n"},
      {"sys/fs/cgroup/user.slice/bus.service/cpu.max", "max 100000\n"},
  };
  return files;
}

class FalseMachine {
 public:
  FalseMachine() {
    for (const auto& [path, text] : files_of_a_good_machine()) write(path, text);
    machine.files = MachineFiles(root_.path());
    machine.uid = kPerson;
    machine.ring_bytes = kRingBytes;
    machine.ring_directory = "/dev/shm/lapwing-1000";
    machine.journal_directory = "/data/es/journal";
    machine.probes = {[] { return absl::OkStatus(); }, [] { return absl::OkStatus(); },
                      [](const std::string&) { return absl::OkStatus(); }};
  }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = std::filesystem::path(root_.path()) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void remove(const std::string& path) {
    std::filesystem::remove_all(std::filesystem::path(root_.path()) / path);
  }
  Finding finding(const std::string& name) const {
    const std::vector<Finding> all = examine(machine);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.name == name; });
    REQUIRE(found != all.end());
    return *found;
  }
  // The names of all findings that are not good.
  std::vector<std::string> faults() const {
    std::vector<std::string> names;
    for (const Finding& finding : examine(machine)) {
      if (finding.verdict != Verdict::kGood) names.push_back(finding.name);
    }
    return names;
  }

  Machine machine;

 private:
  TemporaryDirectory root_;
};

// A fault: the file that contains it, the finding, and its severity.
struct Fault {
  std::string path;
  std::string text;
  std::string name;
  std::string value;
  Verdict verdict;
};

const std::vector<Fault>& faults_of_files() {
  static const std::vector<Fault> faults = {
      {"proc/sys/kernel/osrelease", "5.10.0", "kernel", "5.10.0", Verdict::kProblem},
      {"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave", "governor",
       "performance,powersave", Verdict::kProblem},
      {"sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0", "idle-states", "up to 100 us",
       Verdict::kAdvice},
      {"sys/devices/system/cpu/isolated", "", "isolcpus", "none", Verdict::kAdvice},
      {"sys/devices/system/cpu/smt/active", "1", "smt", "on", Verdict::kAdvice},
      {"sys/devices/system/node/online", "0-1", "numa", "nodes 0-1", Verdict::kAdvice},
      {"sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet", "clock-source",
       "hpet", Verdict::kProblem},
      {"proc/stat", "cpu  1000 0 1000 7000 0 0 0 1000 0 0", "steal",
       "10.00 % of the time since the start", Verdict::kProblem},
      {"sys/kernel/mm/transparent_hugepage/shmem_enabled", "always advise [never]", "thp", "never",
       Verdict::kAdvice},
      {"etc/systemd/logind.conf", "[Login]\n#RemoveIPC=no\n", "remove-ipc", "yes",
       Verdict::kProblem},
      {"etc/systemd/logind.conf.d/late.conf", "RemoveIPC=yes\n", "remove-ipc", "yes",
       Verdict::kProblem},
      {"sys/fs/cgroup/user.slice/memory.max", "134217728", "cgroup-memory", "128 MiB",
       Verdict::kProblem},
      {"sys/fs/cgroup/user.slice/bus.service/cpu.max", "50000 100000", "cgroup-cpu", "50000 100000",
       Verdict::kProblem},
      {"proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw,size=65536k 0 0\n",
       "shared-memory", "/dev/shm/lapwing-1000, 64 MiB", Verdict::kProblem},
      {"proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\n", "shared-memory",
       "/dev/shm/lapwing-1000 is ext4", Verdict::kProblem},
      {"proc/self/mounts",
       "/dev/sda1 / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\ntmpfs /data tmpfs rw 0 0\n",
       "journal-file-system", "tmpfs at /data", Verdict::kProblem},
      {"proc/self/mounts",
       "/dev/sda1 / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\nhost:/x /data nfs4 rw 0 0\n",
       "journal-file-system", "nfs4 at /data", Verdict::kProblem},
  };
  return faults;
}

TEST_CASE("A good machine has no fault") {
  CHECK(FalseMachine().faults().empty());
}

TEST_CASE("Each fault of a file is named and no other") {
  for (const Fault& fault : faults_of_files()) {
    CAPTURE(fault.path, fault.text);
    FalseMachine machine;
    machine.write(fault.path, fault.text);
    CHECK(machine.faults() == std::vector<std::string>{fault.name});
    const Finding finding = machine.finding(fault.name);
    CHECK(finding.value == fault.value);
    CHECK(finding.verdict == fault.verdict);
    CHECK_FALSE(finding.why.empty());
    CHECK_FALSE(finding.remedy.empty());
  }
}

TEST_CASE("Limits count for those that they hold") {
  FalseMachine machine;
  machine.write("proc/self/limits",
                "Max open files            1024         4096         files\n"
                "Max locked memory         8388608      8388608      bytes\n");
  CHECK(machine.faults() == std::vector<std::string>{"memlock", "nofile"});
  CHECK(machine.finding("memlock").value == "8 MiB");
  CHECK(machine.finding("nofile").value == "1024");
  machine.machine.uid = 0;
  CHECK(machine.faults() == std::vector<std::string>{"nofile"});
}

TEST_CASE("RemoveIPC leaves the files of system users") {
  FalseMachine machine;
  machine.remove("etc/systemd/logind.conf");
  CHECK(machine.faults() == std::vector<std::string>{"remove-ipc"});
  machine.machine.uid = 998;
  CHECK(machine.faults().empty());
  machine.machine.uid = kPerson;
  machine.write("proc/1/comm", "init");
  CHECK(machine.faults().empty());
}

TEST_CASE("Swap and too few huge pages are advice") {
  FalseMachine machine;
  machine.write("proc/meminfo",
                "MemTotal: 16000000 kB\nSwapTotal: 1048576 kB\nHugePages_Free: 0\n"
                "Hugepagesize: 2048 kB\n");
  CHECK(machine.faults() == std::vector<std::string>{"huge-pages", "swap"});
  CHECK(machine.finding("swap").value == "1024 MiB");
  CHECK(machine.finding("huge-pages").remedy == "sysctl vm.nr_hugepages=33");
}

TEST_CASE("What cannot be done is named") {
  const auto refuse = [] { return make_error(Errc::kNotPermitted, "not here"); };
  FalseMachine machine;
  machine.machine.probes = {refuse, refuse, [&](const std::string&) { return refuse(); }};
  CHECK(machine.faults() == std::vector<std::string>{"io_uring", "membarrier", "direct-io"});
  CHECK(machine.finding("io_uring").value == "not here");
  CHECK(machine.finding("membarrier").verdict == Verdict::kProblem);
  CHECK(machine.finding("io_uring").remedy.find("seccomp") != std::string::npos);
  machine.write("proc/sys/kernel/io_uring_disabled", "2");
  CHECK(machine.finding("io_uring").remedy == "sysctl kernel.io_uring_disabled=0");
}

TEST_CASE("What a machine does not say is unknown") {
  FalseMachine machine;
  machine.remove("sys");
  machine.remove("proc");
  for (const Finding& finding : examine(machine.machine)) {
    CAPTURE(finding.name);
    CHECK(finding.verdict != Verdict::kProblem);
  }
  CHECK(machine.finding("kernel").verdict == Verdict::kUnknown);
  CHECK(machine.finding("governor").verdict == Verdict::kUnknown);
  CHECK(machine.finding("shared-memory").verdict == Verdict::kUnknown);
}

TEST_CASE("Without a bus nothing is said of its disk") {
  FalseMachine machine;
  machine.machine.journal_directory.clear();
  for (const Finding& finding : examine(machine.machine)) {
    CHECK(finding.name != "direct-io");
    CHECK(finding.name != "journal-file-system");
  }
}

TEST_CASE("The probes of this machine leave nothing behind") {
  const TemporaryDirectory directory;
  const Probes probes = real_probes();
  (void)probes.io_uring();
  (void)probes.membarrier();
  (void)probes.direct_io(directory.path());
  CHECK(std::filesystem::is_empty(directory.path()));
  CHECK(errc_of(probes.direct_io(directory.file("absent"))) == Errc::kNotFound);
}

}  // namespace
}  // namespace lapwing
