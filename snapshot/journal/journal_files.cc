#include "snapshot/journal/journal_files.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "snapshot/journal/segment_file.h"

namespace lapwing {

JournalFiles journal_files_of(Disk& disk, const std::string& journal_root,
                              const SessionBegin& begin) {
  return {&disk, absl::StrCat(journal_root, "/", begin.journal_id.hex()), begin.journal_id,
          JournalGeometry{begin.slot_bytes, begin.record_bytes, begin.segment_slots}};
}

absl::StatusOr<std::vector<std::uint64_t>> list_segments(const JournalFiles& files) {
  std::vector<std::uint64_t> segments;
  const auto names = files.disk->list(files.directory);
  const int sys_errno = errno_of(names.status());
  if (errc_of(names.status()) == Errc::kNotFound || sys_errno == ENOTDIR || sys_errno == ELOOP) {
    return segments;
  }
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    std::uint64_t segment = 0;
    if (parse_numbered_name(name, "jnl", segment)) segments.push_back(segment);
  }
  std::sort(segments.begin(), segments.end());
  return segments;
}

absl::StatusOr<std::vector<JournalDirectory>> list_journals(Disk& disk,
                                                            const std::string& journal_root) {
  std::vector<JournalDirectory> journals;
  auto names = disk.list(journal_root);
  if (errc_of(names.status()) == Errc::kNotFound) return journals;
  if (!names.ok()) return names.status();
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names) {
    const auto id = Id128::from_hex(name);
    if (!id) continue;
    JournalFiles files;
    files.disk = &disk;
    files.directory = absl::StrCat(journal_root, "/", name);
    auto segments = list_segments(files);
    if (!segments.ok()) return segments.status();
    if (!segments->empty()) journals.push_back({*id, files.directory, *std::move(segments)});
  }
  return journals;
}

}  // namespace lapwing
