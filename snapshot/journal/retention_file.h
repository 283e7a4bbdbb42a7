// A journal's `retention` file: the oldest sequence that retention has kept and, if the journal
// failed, the newest published one.
//
// It is written and synced before a segment is unlinked. So a missing segment at or above its value
// was not removed by retention: its records are lost, and this is reported to readers. If the file
// is missing or both copies of its entry are invalid, nothing was removed.
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

// The oldest kept sequence in that journal's `retention`; 1 if there is
// none. Errors: those of the disk.
absl::StatusOr<Sequence> read_retained_from(const JournalFiles& files);

// The newest sequence published by a failed journal's last session, even if the journal does not
// contain it; kNoSequence if unknown. Errors: those of the disk.
absl::StatusOr<Sequence> read_published(const JournalFiles& files);

// The segments that a journal retains, and the oldest sequence. If a later record's segment is
// missing, the record is lost, not pruned.
struct RetainedSegments {
  std::vector<std::uint64_t> segments;  // existing ones, ascending; none below `oldest`
  Sequence oldest = 1;
};

// Existing segments directly below the value in `retention` were about to be removed, and count as
// retained. A segment below a hole could not be unlinked, and does not count.
absl::StatusOr<RetainedSegments> list_retained(const JournalFiles& files);

// The open file, used by the archiver, which removes segments.
class RetentionFile {
 public:
  // Creates the file if it is missing, synced with its name. Errors: kNoSpace, kNotPermitted,
  // kSystem.
  static absl::StatusOr<RetentionFile> open(const JournalFiles& files, unsigned permissions = 0600);

  Sequence oldest() const { return oldest_; }
  // Both functions overwrite both copies; the caller syncs. Neither value decreases.
  absl::Status write(Sequence oldest);
  absl::Status write_published(Sequence published);
  FileHandle get() const { return file_.get(); }
  // True if the file was removed or replaced.
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
