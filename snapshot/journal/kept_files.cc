#include "snapshot/journal/kept_files.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "lapwing/error.h"
#include "os/small_file.h"

namespace lapwing {
namespace {

constexpr unsigned kDirectoryPermissions = 0700;  // the disk adds group permissions

std::string name_of(const KeptFiles& kind, std::uint64_t hash) {
  return absl::StrFormat("%016x.%s", hash, kind.suffix);
}

}  // namespace

std::string KeptFiles::path(const std::string& journal_root, std::uint64_t hash) const {
  return absl::StrCat(journal_root, "/", directory, "/", name_of(*this, hash));
}

absl::Status keep_file(Disk& disk, const std::string& journal_root, const KeptFiles& kind,
                       std::uint64_t hash, const std::string& content) {
  const std::string directory = absl::StrCat(journal_root, "/", kind.directory);
  absl::Status status = disk.make_directory(directory, kDirectoryPermissions);
  if (status.ok()) status = disk.sync_directory(journal_root);
  if (!status.ok()) return status;
  // A writer may have been killed before it synced the name.
  const auto there = read_kept_file(disk, journal_root, kind, hash);
  if (there.ok() && *there == content) return disk.sync_directory(directory);
  return replace_file(disk, directory, name_of(kind, hash), content);
}

absl::StatusOr<std::string> read_kept_file(Disk& disk, const std::string& journal_root,
                                           const KeptFiles& kind, std::uint64_t hash) {
  return read_small_file(disk, kind.path(journal_root, hash), kind.bytes_max);
}

absl::Status remove_unwanted_files(Disk& disk, const std::string& journal_root,
                                   const KeptFiles& kind,
                                   const absl::flat_hash_set<std::uint64_t>& wanted) {
  const std::string directory = absl::StrCat(journal_root, "/", kind.directory);
  const auto names = disk.list(directory);
  if (errc_of(names.status()) == Errc::kNotFound) return absl::OkStatus();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    std::uint64_t hash = 0;
    absl::string_view digits = name;
    if (!absl::ConsumeSuffix(&digits, absl::StrCat(".", kind.suffix))) continue;
    if (!absl::SimpleHexAtoi(digits, &hash) || name != name_of(kind, hash)) continue;
    if (wanted.contains(hash)) continue;
    const absl::Status removed = disk.remove(absl::StrCat(directory, "/", name));
    if (!removed.ok() && errc_of(removed) != Errc::kNotFound) return removed;
  }
  return absl::OkStatus();
}

}  // namespace lapwing
