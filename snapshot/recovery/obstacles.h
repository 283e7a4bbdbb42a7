// What keeps a publisher from continuing a journal although no record of it is damaged: a file that
// is longer or shorter than it has to be, as a copy with `cp --sparse=always` leaves one, or something
// else under the name of a file; a description of the records that is gone.
//
// One search for all three: a start restores lengths and refuses the rest, `verify` reports
// everything, and `repair` removes everything.
//
// Thread safety: free functions; one thread for a journal root. find_… change nothing and may run
// beside a publisher.
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
  std::uint64_t bytes = 0;  // its length, and the one it has to have
  std::uint64_t bytes_due = 0;

  std::string what() const;
  // What a start refuses with, of kNotAFile.
  absl::Status refusal() const;
};

// In the directory of a journal, of segments from `from_segment` on. What a publisher removes or
// renames meanwhile is not reported. Errors: of the disk.
absl::StatusOr<std::vector<Obstacle>> find_obstacles(const JournalFiles& files,
                                                     std::uint64_t from_segment = 0);
// In the journal root: kNotAFile only.
absl::StatusOr<std::vector<Obstacle>> find_root_obstacles(Disk& disk,
                                                          const std::string& journal_root);

// Sets the length, or renames what is not a file to <path>.aside-<id>; synced. No byte of a record
// changes: bytes that are added are zeros, and those that are cut off are behind the last slot.
absl::Status remove_obstacle(Disk& disk, const Obstacle& obstacle, const Id128& id);

// The newest description of the last journal's records, if it cannot be read any more.
struct LostDescription {
  std::string path;
  std::string what;
  std::uint64_t hash = 0;
};
// Nothing for a journal that ends there, and for a schema that is shipped.
std::optional<LostDescription> find_lost_description(Disk& disk, const std::string& journal_root,
                                                     const SessionLog& sessions);

}  // namespace lapwing
