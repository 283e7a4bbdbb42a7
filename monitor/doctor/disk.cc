#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "monitor/doctor/examination.h"

namespace lapwing {
namespace {

constexpr std::array<absl::string_view, 6> kElsewhere = {"nfs", "nfs4",     "cifs",
                                                         "9p",  "virtiofs", "ceph"};

bool is_elsewhere(const std::string& type) {
  return std::find(kElsewhere.begin(), kElsewhere.end(), type) != kElsewhere.end() ||
         absl::StartsWith(type, "fuse");
}

Finding file_system(const Machine& machine) {
  const std::string name = "journal-file-system";
  const std::optional<Mount> mount = machine.files.mount_of(machine.journal_directory);
  if (!mount)
    return unknown_finding(name, absl::StrCat("no mount has ", machine.journal_directory));
  const std::string value = absl::StrCat(mount->type, " at ", mount->directory);
  if (mount->type == "tmpfs" || mount->type == "ramfs") {
    return {name, value, Verdict::kProblem,
            "what is announced as durable is in memory: a power cut takes it",
            "put the journal on a disk: `lapwing publish --journal DIR`"};
  }
  if (mount->type == "overlay") {
    return {name, value, Verdict::kAdvice,
            "a layer of a container's image: each new file is copied through it",
            "mount a volume there"};
  }
  if (is_elsewhere(mount->type)) {
    return {name, value, Verdict::kProblem,
            "locks, syncs and direct I/O are those of another machine or program",
            "a local disk with ext4 or xfs"};
  }
  return good_finding(name, value);
}

Finding direct_io(const Machine& machine) {
  const absl::Status tried = machine.probes.direct_io(machine.journal_directory);
  if (tried.ok()) return good_finding("direct-io", "works");
  return {"direct-io", std::string(tried.message()), Verdict::kAdvice,
          "the journal goes through the page cache: the kernel's write-back slows down publishes",
          "a local disk with ext4 or xfs"};
}

}  // namespace

std::vector<Finding> check_disk(const Machine& machine) {
  if (machine.journal_directory.empty()) return {};
  return {file_system(machine), direct_io(machine)};
}

}  // namespace lapwing
