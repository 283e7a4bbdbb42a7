#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "monitor/doctor/examination.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

// "always" for "[always] madvise never".
std::string chosen_of(const std::string& text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.find(']');
  if (begin == std::string::npos || end == std::string::npos) return text;
  return text.substr(begin + 1, end - begin - 1);
}

Finding transparent_huge_pages(const Machine& machine) {
  const auto said = machine.files.text("sys/kernel/mm/transparent_hugepage/shmem_enabled");
  if (!said) return unknown_finding("thp", "this kernel has no transparent huge pages in tmpfs");
  const std::string chosen = chosen_of(*said);
  if (chosen != "never" && chosen != "deny") return good_finding("thp", chosen);
  return {"thp", chosen, Verdict::kAdvice,
          "the ring is in pages of 4 KiB: readers that jump about it miss the TLB",
          "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled, or `lapwing publish "
          "--huge-pages` with reserved pages"};
}

Finding huge_pages(const Machine& machine) {
  const std::uint64_t free = machine.files.line_of("proc/meminfo", "HugePages_Free").value_or(0);
  const std::uint64_t bytes =
      free * machine.files.line_of("proc/meminfo", "Hugepagesize").value_or(0);
  const std::string value = absl::StrCat(bytes / kMegabyte, " MiB free");
  if (bytes >= machine.ring_bytes) return good_finding("huge-pages", value);
  return {"huge-pages", value, Verdict::kAdvice,
          absl::StrCat("--huge-pages is refused: the ring takes ", machine.ring_bytes / kMegabyte,
                       " MiB"),
          absl::StrCat("sysctl vm.nr_hugepages=", machine.ring_bytes / (2 * kMegabyte) + 1)};
}

// The size of a mount with "size=65536k" or "size=4g"; half the memory if it has no such option.
std::uint64_t size_of_tmpfs(const Machine& machine, const Mount& mount) {
  for (absl::string_view option : absl::StrSplit(mount.options, ',')) {
    if (!absl::ConsumePrefix(&option, "size=") || option.empty()) continue;
    std::uint64_t unit = 1;
    if (absl::ConsumeSuffix(&option, "k")) unit = 1024;
    if (absl::ConsumeSuffix(&option, "m")) unit = kMegabyte;
    if (absl::ConsumeSuffix(&option, "g")) unit = 1024 * kMegabyte;
    std::uint64_t count = 0;
    if (absl::SimpleAtoi(option, &count)) return count * unit;
  }
  return machine.files.line_of("proc/meminfo", "MemTotal").value_or(0) / 2;
}

Finding shared_memory(const Machine& machine) {
  const std::string& directory = machine.ring_directory;
  const std::string name = "shared-memory";
  const std::optional<Mount> mount = machine.files.mount_of(directory);
  if (!mount) return unknown_finding(name, absl::StrCat("no mount has ", directory));
  if (mount->type != "tmpfs" && mount->type != "hugetlbfs") {
    return {name, absl::StrCat(directory, " is ", mount->type), Verdict::kProblem,
            "the ring would be written to a disk", "mount -t tmpfs tmpfs /dev/shm"};
  }
  const std::uint64_t bytes = size_of_tmpfs(machine, *mount);
  const std::string value = absl::StrCat(directory, ", ", bytes / kMegabyte, " MiB");
  // A successor creates its ring while the previous one still exists.
  if (bytes >= 2 * machine.ring_bytes) return good_finding(name, value);
  return {name, value, Verdict::kProblem,
          absl::StrCat("two rings of ", machine.ring_bytes / kMegabyte,
                       " MiB have to fit: a restart makes a second one"),
          "mount -o remount,size=1g /dev/shm; of a container: --shm-size=1g"};
}

Finding swap(const Machine& machine) {
  const std::uint64_t bytes = machine.files.line_of("proc/meminfo", "SwapTotal").value_or(0);
  if (bytes == 0) return good_finding("swap", "none");
  return {"swap", absl::StrCat(bytes / kMegabyte, " MiB"), Verdict::kAdvice,
          "a ring in tmpfs can be swapped out: a reader then waits for the disk",
          "swapoff -a, or sysctl vm.swappiness=1"};
}

}  // namespace

std::vector<Finding> check_memory(const Machine& machine) {
  return {shared_memory(machine), transparent_huge_pages(machine), huge_pages(machine),
          swap(machine)};
}

}  // namespace lapwing
