// Finds the next record for a subscriber that has fallen behind the ring: in the journal up to
// `archived`, and in the ring above it.
//
// A record at or below `archived` is in the journal, and one above it cannot be overwritten in the
// ring. So unless the journal has a hole, the next record is always in one of the two, no matter
// what the publisher does. Before it reports a hole, CatchUp searches the ring, and retries a
// missing file for a while.
//
// Thread safety: one thread. Borrows the attachment for each read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "lapwing/gap.h"
#include "lapwing/sequence.h"
#include "subscribers/attachment.h"

namespace lapwing {

class CatchUp {
 public:
  enum class Outcome {
    kRecords,  // `records` records were copied
    kNothing,  // not yet
    kInRing,   // the ring has it with half its slots to spare, or will get it: go there
    kHole,     // neither the journal nor the ring has or will get the records up to `last`
    kAtEnd,    // all records of a session without a ring were read
  };
  struct Read {
    Outcome outcome = Outcome::kNothing;
    std::uint64_t records = 0;
    Sequence last = kNoSequence;
    GapCause cause = GapCause::kVoid;
    std::string detail = {};  // why it is missing; empty for a void
  };

  // Retries a missing journal file for `missing_file_grace`.
  explicit CatchUp(std::chrono::nanoseconds missing_file_grace);

  // Prepares for the records of a new session.
  void start() {
    keep_to_journal_below(kNoSequence);
    missing_.reset();
  }
  // The ring was lapped and no longer holds records below `ring_floor`.
  void keep_to_journal_below(Sequence ring_floor) {
    ring_floor_ = ring_floor;
    waits_ = false;
  }

  // Copies record `next` and those after it, as many as exist and fit into `out`, which has room
  // for at least one. `ended`: the publisher archives no more records. `seen_head`: as in
  // RingReader::read_run. Errors: those of JournalReader::read.
  absl::StatusOr<Read> read(const Attachment& attachment, Sequence next, std::span<std::byte> out,
                            bool ended, Sequence& seen_head);
  // True if the last read returned nothing and an immediate retry would not either.
  bool waits() const { return waits_; }

 private:
  absl::StatusOr<Read> find(const Attachment& attachment, Sequence next, std::span<std::byte> out,
                            bool ended, Sequence& seen_head);
  absl::StatusOr<Read> from_journal(const Attachment& attachment, Sequence next,
                                    std::span<std::byte> out);
  Read in_hole(const Attachment& attachment, const JournalRun& hole, Sequence next,
               std::span<std::byte> out);
  bool may_come_back(const JournalRun& hole);

  // Consecutive missing journal files, with no record read in between.
  struct MissingFiles {
    std::uint64_t since_ns = 0;
    std::uint64_t retry_ns = 0;  // when to try them again
  };

  const std::uint64_t missing_file_grace_ns_;
  Sequence ring_floor_ = kNoSequence;
  std::optional<MissingFiles> missing_;
  bool waits_ = false;
};

}  // namespace lapwing
