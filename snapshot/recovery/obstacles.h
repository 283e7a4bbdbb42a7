// Finds obstacles that prevent a publisher from continuing a journal although no record is damaged:
//  - a file with the wrong length, for example a copy made by `cp --sparse=always`;
//  - a directory, link or device with the name of a journal file;
//  - a missing description of the records.
//
// The start, `verify` and `repair` use the same search. The start restores lengths and fails on all
// other obstacles, `verify` reports all of them, and `repair` removes all of them.
//
// Thread safety: free functions; one thread per journal root. The find_ functions change nothing
// and may be called while a publisher is running.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

struct Obstacle {
  enum class Kind { kWrongLength, kNotAFile };

  std::string path;
  Kind kind = Kind::kNotAFile;
  std::uint64_t bytes = 0;      // current length
  std::uint64_t bytes_due = 0;  // correct length

  std::string what() const;
  // The error with which a start fails; for kNotAFile only.
  absl::Status refusal() const;
};

// Searches a journal's directory from segment `from_segment` on. Files that a publisher removes or
// renames in the meantime are not reported. Errors: those of the disk.
absl::StatusOr<std::vector<Obstacle>> find_obstacles(const JournalFiles& files,
                                                     std::uint64_t from_segment = 0);
// Searches the journal root, for kNotAFile only.
absl::StatusOr<std::vector<Obstacle>> find_root_obstacles(Disk& disk,
                                                          const std::string& journal_root);

// Restores the length, or renames a path that is not a file to <path>.aside-<id>, and syncs.
// Records do not change: added bytes are zeros, and removed bytes are beyond the last slot.
absl::Status remove_obstacle(Disk& disk, const Obstacle& obstacle, const Id128& id);

// The newest description of the last journal's records, if it cannot be read.
struct LostDescription {
  std::string path;
  std::string what;
  std::uint64_t hash = 0;
};
// nullopt if the description can be read, if the last journal has failed, or if the schema is
// shipped with Lapwing.
std::optional<LostDescription> find_lost_description(Disk& disk, const std::string& journal_root,
                                                     const SessionLog& sessions);

}  // namespace lapwing
