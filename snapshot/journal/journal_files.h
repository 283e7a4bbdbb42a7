// Journal directories: the paths of their files, and the list of their segments.
//
// Thread safety: plain values and pure functions; borrows the Disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "os/path.h"
#include "proto/journal_format.h"
#include "snapshot/journal/journal_geometry.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {

struct JournalFiles {
  Disk* disk = nullptr;
  std::string directory;  // <journal root>/<journal id>
  Id128 journal_id;
  JournalGeometry geometry;

  std::string path(std::uint64_t segment, const char* suffix) const {
    return numbered_path(directory, segment, suffix);
  }
};

// Returns the files of the journal that `begin` names.
JournalFiles journal_files_of(Disk& disk, const std::string& journal_root,
                              const SessionBegin& begin);

// Lists the segments that have a .jnl file, ascending. Empty if the directory is missing, or is a
// file or a link.
absl::StatusOr<std::vector<std::uint64_t>> list_segments(const JournalFiles& files);

// A directory below a journal root that has a journal's name and contains segments.
struct JournalDirectory {
  Id128 journal_id;
  std::string path;
  std::vector<std::uint64_t> segments;  // ascending
};

// Lists the journals of `journal_root`, ordered by name. Empty if it is missing.
absl::StatusOr<std::vector<JournalDirectory>> list_journals(Disk& disk,
                                                            const std::string& journal_root);

}  // namespace lapwing
