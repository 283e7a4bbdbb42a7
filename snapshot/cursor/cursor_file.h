// A cursor's file (proto/cursor_format.h): one process commits, and any process may read.
//
// Invariants
//  1. A commit writes the copy that is not the newest. An interrupted commit leaves the newest
//     copy intact.
//  2. A new file gets its name after both copies are written and synced. So a file without a valid
//     copy is damaged, not new.
//  3. The first failed write or sync is final: every later commit fails with the same status.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/cursor.h"
#include "lapwing/subscriber.h"
#include "os/io.h"

namespace lapwing {

// A reader may find a half-written copy. After this many re-reads, the copy counts as damaged.
inline constexpr int kCursorRereads = 3;
// A process that is ending may hold the file slightly longer than its other resources.
inline constexpr std::uint64_t kCursorLockRetryNs = 1'000'000'000;

struct CursorCommit {
  std::uint64_t generation = 0;  // incremented by each commit
  StoredPosition position = {};  // sequence kNoSequence: nothing committed yet
  OutputEnd output = {};
  std::uint64_t written_wall_ns = 0;  // UTC; without a commit, when the file was created
};

struct CursorContents {
  CursorCommit newest;  // the newest of the valid copies
  bool one_copy_is_damaged = false;
};

// Reads the current contents of `path`; may run concurrently with commits. Errors: kNotFound,
// kNotPermitted, kNotALapwingFile, kAbiMismatch (a later version), kDamaged (neither copy is
// valid), kSystem.
absl::StatusOr<CursorContents> read_cursor(Disk& disk, const std::string& path);

class CursorFile {
 public:
  // Creates the file with mode 0600 if it does not exist. The caller's lock prevents other
  // processes from doing the same. Also locks the file itself, and no process can remove that lock.
  // Errors: those of read_cursor; kInUse (another process commits to it), kNoSpace.
  static absl::StatusOr<CursorFile> open(Disk& disk, const std::string& path);

  const CursorCommit& newest() const { return newest_; }
  // `position` must exist. `sync`: the commit is durable when this returns ok. Errors: kNoSpace,
  // kSystem.
  absl::Status commit(const StoredPosition& position, const OutputEnd& output, bool sync);

 private:
  CursorFile(Disk& disk, OpenFile file, const CursorCommit& newest)
      : disk_(&disk), file_(std::move(file)), newest_(newest) {}

  Disk* disk_;
  OpenFile file_;
  CursorCommit newest_;
  absl::Status failure_;
};

}  // namespace lapwing
