// Moves blocks from the ring to the segments: whole blocks directly from the ring's memory, a
// partial block from a private copy.
//
// Invariants
//  1. archived = end of the contiguous completed writes.
//  2. Two writes to one block are never in flight together. A block begun from the private copy is
//     finished from it by sequential writes. Every other block is written exactly once.
//  3. If a session begins inside a block, its first block is begun from the private copy. The copy
//     then contains the slots before the session as they are on disk, because the ring may not have
//     them.
//  4. The sum of a block is computed before `archived` covers the block. After that, the publisher
//     may overwrite the slots, long before they are durable and the sum is written. So the sum is
//     kept until it is synced.
//
// A block is contiguous in the ring and in its segment, because all sizes are powers of
// two. A run of blocks is one write of at most kRunBytesMax, which never crosses the
// end of the ring or of a segment.
//
// Thread safety: one thread. No allocation after the start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "snapshot/archive/open_segment.h"
#include "snapshot/archive/request_batch.h"
#include "snapshot/archive/segment_pool.h"
#include "snapshot/archive/session_origin.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

inline constexpr std::uint64_t kRunBytesMax = 256 * 1024;
inline constexpr std::size_t kWritesInFlightMax = 32;

class BlockWriter {
 public:
  struct Options {
    Sequence first = 1;                     // of the session
    std::uint64_t capacity = 0;             // of the ring, slots
    const std::byte* ring_slots = nullptr;  // 4 KiB-aligned
    const SessionOrigin* origin = nullptr;  // of a mirror
    std::uint64_t tag_base;                 // for its request tags
  };

  BlockWriter(SegmentPool& segments, const Options& options);

  // For a session that begins inside a block: fills the private copy with that block from disk. The
  // segment must be ready. Returns kDamaged if a record before the session is missing that the
  // origin has.
  absl::Status load_first_block();

  // Submits whole blocks up to head and, if `partial_due`, the slots of the last, unfinished block.
  void submit(WriteQueue& queue, Sequence head, bool partial_due);
  absl::Status complete(std::uint64_t tag, std::int64_t result);

  Sequence archived() const { return archived_; }
  // The end of the submitted records.
  Sequence submitted() const { return submitted_; }
  // The segment that the writer is waiting for because it is not ready.
  std::optional<std::uint64_t> missing_segment() const { return missing_segment_; }
  std::uint64_t writes() const { return writes_; }
  std::uint64_t bytes_written() const { return bytes_written_; }
  std::uint64_t segment_waits() const { return segment_waits_; }

 private:
  struct Flight {
    OngoingRequest request;
    OpenSegment* segment = nullptr;
    const std::byte* slots = nullptr;  // of the block that holds `first`
    Sequence first = kNoSequence;      // first sequence of the first block
    Sequence last = kNoSequence;       // new `archived` when this and all earlier flights are done
    bool from_private = false;
    bool unsent = false;
    bool done = false;
  };

  bool submit_run(WriteQueue& queue, Sequence head);
  bool submit_private(WriteQueue& queue, Sequence head, bool partial_due);
  void begin_private(Sequence first);
  void launch(WriteQueue& queue, OpenSegment& segment, const std::byte* slots, Sequence first,
              Sequence last, std::uint64_t bytes, bool from_private);
  void send(WriteQueue& queue, std::size_t flight);
  void land();
  void keep_sums(const Flight& flight);
  OpenSegment* segment_for(Sequence n);
  const std::byte* ring_slot(Sequence n) const;

  SegmentPool& segments_;
  const JournalFiles& journal_;
  const Options options_;
  Sequence archived_;
  Sequence submitted_;

  std::array<Flight, kWritesInFlightMax> flights_;  // a ring, ordered by sequence
  std::uint64_t flights_begin_ = 0;
  std::uint64_t flights_end_ = 0;

  Page private_page_{};
  bool private_open_ = false;             // a block begun from the private copy is unfinished
  bool private_in_flight_ = false;        // or its write is done, but its sum is not computed yet
  Sequence private_first_ = kNoSequence;  // of its block

  std::optional<std::uint64_t> missing_segment_;
  std::uint64_t writes_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t segment_waits_ = 0;
};

}  // namespace lapwing
