// The file `retention` of a journal: the oldest sequence that retention has kept, and the newest
// one that was published if the journal failed.
//
// It is written and synced before a segment is unlinked. So a segment that is missing at or above
// what it says was not removed by retention: its records are lost, and whoever reads is told.
// Without the file, and where neither copy of its entry checks, nothing was removed.
//
// Thread safety: one thread; borrows the Disk.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

inline constexpr char kRetentionFileName[] = "retention";

// What `retention` of that journal says; 1 if there is none. Errors: of the disk.
absl::StatusOr<Sequence> read_retained_from(const JournalFiles& files);

// The newest sequence that the last session of a failed journal published, even if the journal does
// not have it; kNoSequence if unknown. Errors: of the disk.
absl::StatusOr<Sequence> read_published(const JournalFiles& files);

// The segments that a journal retains, and the oldest sequence: a record from there on whose
// segment is missing is lost and was not pruned.
struct RetainedSegments {
  std::vector<std::uint64_t> segments;  // that are there, ascending; none below `oldest`
  Sequence oldest = 1;
};

// Segments directly below what `retention` says were about to be removed, and count as retained. A
// segment below a hole could not be unlinked, and does not.
absl::StatusOr<RetainedSegments> list_retained(const JournalFiles& files);

// The file, for the one that removes segments.
class RetentionFile {
 public:
  // Makes the file if it is missing: synced, with its name. Errors: kNoSpace, kNotPermitted,
  // kSystem.
  static absl::StatusOr<RetentionFile> open(const JournalFiles& files, unsigned permissions = 0600);

  Sequence oldest() const { return oldest_; }
  // These overwrite both copies; the caller syncs. Neither value decreases.
  absl::Status write(Sequence oldest);
  absl::Status write_published(Sequence published);
  FileHandle get() const { return file_.get(); }
  // Somebody has removed or replaced the file.
  bool is_lost() const;

 private:
  RetentionFile(const JournalFiles& files, OpenFile file, Sequence oldest, Sequence published)
      : files_(files), file_(std::move(file)), oldest_(oldest), published_(published) {}

  JournalFiles files_;
  OpenFile file_;
  Sequence oldest_ = 1;
  Sequence published_ = kNoSequence;
};

}  // namespace lapwing
