// Reads records back from a journal: in sequence, from any position, or from a wall-clock time.
//
// Works beside a running publisher and without one; writes nothing. Files are read with pread:
// their owner could truncate them. A block at or below durable is checked against its sum when it
// is first touched and again when its count exceeds what was verified; a mismatch counts after
// three re-reads, since a block may be rewritten while it is read. Slots between durable and
// archived are taken by exact stamp. Nothing at or below durable is ever returned wrong.
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
#include "proto/gap.h"
#include "proto/journal_format.h"
#include "snapshot/io.h"
#include "snapshot/journal_geometry.h"
#include "snapshot/session_log.h"

namespace lapwing {

inline constexpr int kSumRereads = 3;

// What one read delivered. Exactly one of: count > 0; a gap; neither (nothing at n yet).
struct JournalRun {
  std::uint64_t count = 0;  // records copied, sequences n … n + count - 1
  bool gap = false;
  Sequence gap_last = 0;    // the gap is n … gap_last
  GapCause cause = GapCause::kVoid;  // kVoid, kPruned or kDamaged
  std::string detail;       // damaged: file, offset, sequence
};

// How far the journal may be trusted, as of now. With a publisher: page 1 of the ring. Without:
// what JournalReader::settled_bounds says.
struct JournalBounds {
  Sequence durable = 0;   // sums exist up to here
  Sequence archived = 0;  // exact stamps exist up to here
  Sequence oldest = 1;
};

class JournalReader {
 public:
  // `journal_root` holds `sessions`; the segments are in <journal_root>/<journal id>.
  // Errors: kNotFound, kDamaged, kNotPermitted, kNotALapwingFile.
  static absl::StatusOr<std::unique_ptr<JournalReader>> open(Disk& disk,
                                                             const std::string& journal_root,
                                                             const Id128& journal_id);
  ~JournalReader();

  const JournalGeometry& geometry() const;
  const SessionLog& sessions() const;
  // Reads `sessions` again; call it after a session change.
  absl::Status refresh();

  // Copies records n, n+1, … (packed, record_bytes each) while they are at or below
  // bounds.archived, in one segment, and fit into `out`.
  absl::StatusOr<JournalRun> read(Sequence n, const JournalBounds& bounds,
                                  std::span<std::byte> out);

  // The sequence from which to read so that no record published at or after `wall_ns` is missed:
  // at, or a little before. Never below the oldest retained.
  absl::StatusOr<Sequence> find_time(std::uint64_t wall_ns, const JournalBounds& bounds);

  // What the files alone prove, for readers without a publisher.
  absl::StatusOr<JournalBounds> settled_bounds();

 private:
  struct State;
  explicit JournalReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
