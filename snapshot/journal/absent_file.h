// The files `absent` and `absent.copy` of a mirror's journal: the sequences that the mirror does not have because its
// origin does not have them and never will.
//
// `absent` and `absent.copy` are the same list of AbsentEntry, one for each range. An entry is written
// to the first file and synced, then to the copy and synced, before the next one, and before any record
// after its range becomes durable. An entry counts if it is valid in either file. A power cut can leave
// a last entry that is valid in neither; it is ignored, and later overwritten. Any other entry that is
// valid in neither is damage.
//
// Invariants
//  1. Ranges ascend and do not overlap. A range ends with a block, or with its session.
//  2. After open() and after each append(), every reported range is synced in both files.
//  3. A failed sync is final: every later append fails with the same status. An append that failed
//     because the disk is full can be repeated.
//
// Thread safety: one thread; borrows the Disk. One writer for a journal, beside readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/gap.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "proto/journal_format.h"
#include "snapshot/journal/journal_damage.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

inline constexpr char kAbsentFileName[] = "absent";
inline constexpr std::uint64_t kAbsentRowsMax = std::uint64_t{1} << 20;

// Sequences without records.
struct AbsentRange {
  Sequence first = kNoSequence;
  Sequence last = kNoSequence;  // inclusive
  // The cause of the gap that readers get. kVoid: the range is in the end of its session. The other
  // ranges are in `absent`: the origin has pruned the records (kPruned), has them damaged (kDamaged),
  // never archived them (kUpstream), or did not send them (kNotRelayed).
  GapCause cause = GapCause::kNotRelayed;

  bool contains(Sequence n) const { return first <= n && n <= last; }
  friend bool operator==(const AbsentRange&, const AbsentRange&) = default;
};

// An entry that is valid only in the other file.
struct AbsentCopyDefect {
  std::size_t copy = 0;  // 0: absent, 1: absent.copy
  std::uint64_t index = 0;
  AbsentEntry entry;  // of the other file
};

struct AbsentContents {
  std::vector<AbsentRange> ranges;      // the valid ones, ascending
  std::optional<JournalDamage> damage;  // the first entry before the last one that is valid nowhere
  std::vector<AbsentCopyDefect> copy_defects;
  std::uint64_t entries = 0;  // in the longer file, without an invalid last one
};

// Reads the valid entries, which readers use even if others are damaged; nothing if both files are
// missing. A cause that this release does not know is reported as kNotRelayed. Errors: kLimit, those
// of the disk.
absl::StatusOr<AbsentContents> inspect_absent(const JournalFiles& files);

// Reads all ranges. Errors: kDamaged with file and offset; those of inspect_absent().
absl::StatusOr<std::vector<AbsentRange>> read_absent(const JournalFiles& files);

// The path of `absent` or of its copy.
std::string absent_path(const JournalFiles& files, std::size_t copy);

// Both files, for the writer of the mirror.
class AbsentFile {
 public:
  // Reads the files if they exist, restores each from the other, and syncs them. Errors: kDamaged with
  // file and offset, kNotALapwingFile, kNotPermitted, those of read_absent().
  static absl::StatusOr<AbsentFile> open(const JournalFiles& files, unsigned permissions = 0600);

  const std::vector<AbsentRange>& ranges() const { return ranges_; }
  // Appends a range and syncs. Creates the files for the first one. `session_last` is the last
  // sequence of the range's session, with its void, or kSequenceMax while it is open. Errors:
  // kInvalidArgument (the range is not after the others, does not end with a block or at
  // session_last, or is a void), kLimit, kNoSpace, kSystem.
  absl::Status append(const AbsentRange& range, Sequence session_last = kSequenceMax);
  // True if one of the files was removed or replaced.
  bool is_lost() const;

 private:
  static constexpr std::size_t kCopies = 2;

  AbsentFile(const JournalFiles& files, unsigned permissions)
      : files_(files), permissions_(permissions) {}
  absl::Status check(const AbsentRange& range, Sequence session_last) const;
  absl::Status open_copies();
  absl::Status create_missing();
  absl::Status heal(const AbsentContents& contents);
  absl::Status write(const AbsentRange& range);

  JournalFiles files_;
  unsigned permissions_;
  OpenFile copies_[kCopies];  // invalid until there is a range
  std::vector<AbsentRange> ranges_;
  absl::Status failure_;
};

}  // namespace lapwing
