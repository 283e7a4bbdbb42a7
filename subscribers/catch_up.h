// Where a subscriber that is behind the ring finds its next record: in the journal up to `archived`,
// beyond it in the ring.
//
// A record at or below `archived` is in the journal; one beyond it cannot be overwritten in the
// ring. So the next record is always in one of the two, whatever the publisher does meanwhile,
// unless the journal has a hole. What is missing is then looked for in the ring, and a file that is
// not there is asked for again for a while, before a hole is reported.
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
    kRecords,  // `records` of them were copied
    kNothing,  // not yet
    kInRing,   // the ring gives it, with half its slots to spare, or will: continue there
    kHole,     // neither place has the records up to `last`, nor will
    kAtEnd,    // everything was read of a session that has no ring any more
  };
  struct Read {
    Outcome outcome = Outcome::kNothing;
    std::uint64_t records = 0;
    Sequence last = kNoSequence;
    GapCause cause = GapCause::kVoid;
    std::string detail = {};  // why it is missing; empty for a void
  };

  // A file of the journal that is missing is asked for again for `missing_file_grace`.
  explicit CatchUp(std::chrono::nanoseconds missing_file_grace);

  // Another session is read.
  void start() {
    keep_to_journal_below(kNoSequence);
    missing_.reset();
  }
  // The ring was lapped and holds nothing below this any more.
  void keep_to_journal_below(Sequence ring_floor) {
    ring_floor_ = ring_floor;
    waits_ = false;
  }

  // Record `next` and those behind it, as many as are there and fit into `out`, which has room for
  // one. `ended`: the publisher will archive no more. `seen_head`: as in RingReader::read_run.
  // Errors: those of JournalReader::read.
  absl::StatusOr<Read> read(const Attachment& attachment, Sequence next, std::span<std::byte> out,
                            bool ended, Sequence& seen_head);
  // The last read gave nothing yet: to ask again at once would give nothing either.
  bool waits() const { return waits_; }

 private:
  absl::StatusOr<Read> find(const Attachment& attachment, Sequence next, std::span<std::byte> out,
                            bool ended, Sequence& seen_head);
  absl::StatusOr<Read> from_journal(const Attachment& attachment, Sequence next,
                                    std::span<std::byte> out);
  Read in_hole(const Attachment& attachment, const JournalRun& hole, Sequence next,
               std::span<std::byte> out);
  bool may_come_back(const JournalRun& hole);

  // Files of the journal that are not there, one after the other, and nothing was read since.
  struct MissingFiles {
    std::uint64_t since_ns = 0;
    std::uint64_t retry_ns = 0;  // when they are asked for again
  };

  const std::uint64_t missing_file_grace_ns_;
  Sequence ring_floor_ = kNoSequence;
  std::optional<MissingFiles> missing_;
  bool waits_ = false;
};

}  // namespace lapwing
