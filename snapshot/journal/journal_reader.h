// Reads records back from a journal: in sequence, from any position, or from a wall-clock time.
//
// Works beside a running publisher and without one; writes nothing. What is returned was proven by
// snapshot/journal/segment_reader.h: by its sum at or below durable, by its exact stamp everywhere.
// Nothing at or below durable is ever returned wrong.
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
#include "snapshot/journal/journal_geometry.h"
#include "snapshot/journal/segment_map.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

// What one read delivered. Exactly one of: count > 0; a gap; neither (nothing at n yet).
struct JournalRun {
  std::uint64_t count = 0;  // records copied, sequences n … n + count - 1
  bool gap = false;
  Sequence gap_last = 0;             // the gap is n … gap_last
  GapCause cause = GapCause::kVoid;  // kVoid, kPruned or kDamaged
  std::string detail;                // damaged: file, offset, sequence
  // kDamaged because a file is not there, which may be asked for again: it may be put back, unless
  // its directory was removed.
  bool missing_file = false;
  AnchorState directory = AnchorState::kStands;  // of the journal, where a file is missing
};

// What map() gives.
struct MappedRun {
  Sequence first = kNoSequence;
  std::uint64_t count = 0;
  SegmentMapping mapping;
};

// How far the journal may be trusted, as of now. Where there is a ring file of the journal's last
// session and of this boot, its publisher alive or not: page 1. Otherwise: settled_bounds().
struct JournalBounds {
  Sequence durable = 0;   // sums exist up to here
  Sequence archived = 0;  // exact stamps exist up to here
  Sequence oldest = 1;
};

class JournalReader {
 public:
  // `journal_root` holds `sessions`; the segments are in <journal_root>/<journal id>. The disk is
  // anchored there: a root that is moved is read on.
  // Errors: kNotFound, kDamaged, kNotPermitted, kNotALapwingFile.
  static absl::StatusOr<std::unique_ptr<JournalReader>> open(Disk& disk,
                                                             const std::string& journal_root,
                                                             const Id128& journal_id);
  ~JournalReader();

  const JournalGeometry& geometry() const;
  const SessionLog& sessions() const;
  // Reads `sessions` again and forgets what it held of the files; call it after a session change.
  absl::Status refresh();

  // Copies records n, n+1, … (packed, record_bytes each) while they are at or below
  // bounds.archived, in one segment, and fit into `out`, which has room for one at least. Where the
  // journal cannot give n it says why and how far: kVoid with the void's end; kPruned below
  // bounds.oldest or what retention has recorded since, but for the segment that is open; kDamaged
  // to the end of the damaged block, of the segment whose header is damaged, or of the segments
  // that are missing in a row. A file that is missing is looked for again by the next read.
  // Errors: kInvalidArgument, kNotPermitted, kSystem.
  absl::StatusOr<JournalRun> read(Sequence n, const JournalBounds& bounds,
                                  std::span<std::byte> out);

  // The records of the finished segment that n is in, as far as no void parts them from n, mapped
  // and proven. Errors: kInvalidArgument; kWouldBlock (not all of the segment is durable); kNotFound
  // (n is in a void); kPruned, kDamaged; those of map_segment().
  absl::StatusOr<MappedRun> map(Sequence n, const JournalBounds& bounds);

  // The sequence from which to read so that no record published at or after `wall_ns` is missed:
  // at, or a little before. Never below the oldest retained.
  absl::StatusOr<Sequence> find_time(std::uint64_t wall_ns, const JournalBounds& bounds);

  // What the files alone prove, for readers without a publisher and without its ring file: the last
  // session's `end`, or what its sums prove. archived is durable then: that is where the next
  // publisher will cut, so that nothing is read which will never have existed.
  absl::StatusOr<JournalBounds> settled_bounds();
  // The newest sequence that the last session of a failed journal published; kNoSequence if
  // unknown. Errors: of the disk.
  absl::StatusOr<Sequence> published() const;

 private:
  struct State;
  explicit JournalReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
