// Reads records from a journal: in sequence, from any position, or from a wall-clock time.
//
// Works with or without a running publisher, and writes nothing. Returned records were verified by
// snapshot/journal/segment_reader.h: always by their exact stamp, and at or below durable also by
// their sum. A wrong record at or below durable is never returned.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/gap.h"
#include "os/io.h"
#include "proto/journal_format.h"
#include "snapshot/journal/absent_file.h"
#include "snapshot/journal/journal_geometry.h"
#include "snapshot/journal/segment_map.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

// The result of one read: count > 0, a gap, or neither (nothing at n yet).
struct JournalRun {
  std::uint64_t count = 0;  // records copied, sequences n … n + count - 1
  bool gap = false;
  Sequence gap_last = 0;  // the gap is n … gap_last
  GapCause cause = GapCause::kVoid;
  // The gap is in `sessions` or `absent`, so no later read finds its records.
  bool is_recorded = false;
  std::string detail;  // damaged: file, offset, sequence; absent: why; else empty
  // kDamaged because a file is missing. If the file is restored, another read may find it, unless
  // its directory was removed.
  bool missing_file = false;
  AnchorState directory = AnchorState::kStands;  // the journal's, if a file is missing
};

// The result of map().
struct MappedRun {
  Sequence first = kNoSequence;
  std::uint64_t count = 0;
  SegmentMapping mapping;
};

// The trusted part of the journal, as of now. If the journal's last session has a ring file from
// this boot, it comes from the ring's page 1, whether or not the publisher is running. Otherwise it
// comes from settled_bounds().
struct JournalBounds {
  Sequence durable = 0;   // sums exist up to this sequence
  Sequence archived = 0;  // exact stamps exist up to this one
  Sequence oldest = 1;
};

class JournalReader {
 public:
  // `journal_root` contains `sessions`; the segments are in <journal_root>/<journal id>. The disk
  // is anchored there, so the root can still be read after it was moved. Errors: kNotFound,
  // kDamaged, kNotPermitted, kNotALapwingFile.
  static absl::StatusOr<std::unique_ptr<JournalReader>> open(Disk& disk,
                                                             const std::string& journal_root,
                                                             const Id128& journal_id);
  ~JournalReader();

  const JournalGeometry& geometry() const;
  const SessionLog& sessions() const;
  // The ranges without records, ascending: voids, and in a mirror what its origin does not have.
  std::span<const AbsentRange> absent() const;
  // Reads `sessions` and `absent` again and closes the open files. Call it after a session change.
  absl::Status refresh();

  // Copies records n, n+1, … (packed, record_bytes each) as long as they are at or below
  // bounds.archived, are in one segment, and fit into `out`, which must have room for at least one.
  //
  // If the journal does not have record n, returns a gap with its cause and its end:
  // - kVoid, up to the void's end.
  // - The recorded cause, up to the end of a range in `absent`. The file is read again before any
  //   other gap is returned.
  // - kPruned, below bounds.oldest or below the sequence that retention has since recorded, except
  //   in the open segment.
  // - kDamaged, up to the end of the damaged block, the segment with a damaged header, or the
  //   consecutive missing segments. The next read looks for a missing file again.
  //
  // Errors: kInvalidArgument, kNotPermitted, kSystem.
  absl::StatusOr<JournalRun> read(Sequence n, const JournalBounds& bounds,
                                  std::span<std::byte> out);

  // Maps and verifies the records of the finished segment that contains n, up to the next void or
  // absent range on both sides of n. Errors: kInvalidArgument; kWouldBlock (it is not durable yet);
  // kNotFound (n is in a void or absent); kPruned, kDamaged; those of map_segment().
  absl::StatusOr<MappedRun> map(Sequence n, const JournalBounds& bounds);

  // Returns a sequence such that reading from it misses no record published at or after `wall_ns`.
  // It is exact or slightly early, and never below the oldest retained.
  absl::StatusOr<Sequence> find_time(std::uint64_t wall_ns, const JournalBounds& bounds);

  // The bounds that the files alone prove, for readers without a publisher or its ring file: from
  // the last session's `end`, or from its sums. archived equals durable, because the next publisher
  // will cut there. So a reader never reads a record that the cut removes.
  absl::StatusOr<JournalBounds> settled_bounds();
  // The newest sequence published by a failed journal's last session; kNoSequence if unknown.
  // Errors: those of the disk.
  absl::StatusOr<Sequence> published() const;

 private:
  struct State;
  explicit JournalReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
