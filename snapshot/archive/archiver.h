// Writes the ring to the journal: blocks from the ring's own memory, sums, reservations, syncs.
//
// Sans time and sans thread: the owner (the publisher's file thread, or a test) calls step() again
// and again with the head it sees and the clock it has; step() never sleeps longer than it is told
// to. All file access goes through Disk and WriteQueue. Opening and naming segments, and reserving
// sequences (two syncs), are synchronous; everything else goes on while they last.
//
// The guarantee it gives (docs/explanation/durability.md): a slot whose sequence is at most limit() may be
// overwritten or written, because everything that leaves the ring thereby is archived.
//
// Invariants
//  1. archived = end of the contiguous completed writes; durable ≤ archived ≤ head.
//  2. Never two writes in flight to one block; a partial block goes from a private copy,
//     zero-padded.
//  3. durable moves only after: writes up to W complete, data synced, their sums written, sums
//     synced.
//  4. No sequence beyond the synced reservation is ever allowed by limit(), unless the journal has
//     failed and the session's end is recorded, or cannot be.
//  5. The first failed write or sync of records, sums or `sessions` is final: durable freezes,
//     nothing more is submitted.
//
// What ends a journal endangers a record, or a sequence that might be given twice:
//
//   fails                                      why
//   -----------------------------------------  ---------------------------------------------------
//   a write or sync of .jnl or .sum            records, or their proof, may not be there
//   the needed segment cannot be had, twice    records have no place
//   .jnl or .sum that holds records is gone    what is written to it is kept by nobody
//   a reservation or the end cannot be synced  sequences might be given twice
//   `sessions` and its copy are gone           the same, after a power cut
//   nothing completes at the end               records may not be there
//   shed()                                     as asked
//
// Anything else is logged once, counted, and the journal goes on: a write or sync of .idx, which is
// a hint; a file that retention or the end cannot remove, and the sync of the directory after it;
// reserved space that the end cannot give back;
// an unused segment that somebody removed, which is prepared anew; one of `sessions` and its copy
// that somebody removed, which the next start makes anew; `retention` removed, which is made again
// at once (while it cannot be, no segment is removed).
//
// A disk that is full when a segment is prepared ahead is not a failure yet: it is tried again
// until the segment is needed, and once more then.
//
// Parts: BlockWriter (blocks to segments), SegmentPool (segments ahead of need), SyncCycle
// (archived to durable), SyncSchedule (when), SegmentRetention (the oldest end).
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/log.h"
#include "os/io.h"
#include "proto/journal_format.h"
#include "proto/ring_counters.h"
#include "proto/schema_label.h"
#include "snapshot/archive/segment_retention.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

inline constexpr std::uint64_t kReservationStepMin = std::uint64_t{1} << 22;  // sequences
inline constexpr std::uint64_t kReservationLaps = 4;
inline constexpr std::uint64_t kReservationSeconds = 16;  // at the rate seen so far
// A reservation is at least the session's records divided by this, so the number of rows grows with
// the logarithm of the session's length: about 50,000 rows in ten years at ten million records a
// second.
inline constexpr std::uint64_t kReservationShare = 2048;

// How many sequences a session that has published `records` reserves beyond head. `in_time`: the
// records that are expected within kReservationSeconds.
constexpr std::uint64_t reservation_step(std::uint64_t capacity, std::uint64_t in_time,
                                         std::uint64_t records) {
  return std::max(std::max(kReservationStepMin, kReservationLaps * capacity),
                  std::max(in_time, records / kReservationShare));
}

inline constexpr std::uint64_t kSegmentsAheadMin = 2;
// Of slots. The sums of the segments that are open are in memory: see kSumMemoryBytesMax.
inline constexpr std::uint64_t kSegmentSlotBytesMax = std::uint64_t{2} << 30;
inline constexpr std::uint64_t kSegmentSecondsAhead = 2;
// A start or an end that waits for the disk gives up after this long without a completion; the
// destructor says each time that it goes on waiting.
inline constexpr std::uint64_t kStallNsMax = 60'000'000'000;
// Between looks at the names of the open files.
inline constexpr std::uint64_t kNamesCheckNs = 1'000'000'000;

struct ArchiverOptions {
  JournalFiles journal;  // its directory exists
  SchemaLabel schema;
  Sequence first = 1;          // of this session: archived and durable start at first - 1
  Sequence oldest = 1;         // oldest retained sequence at the start
  std::uint64_t capacity = 0;  // of the ring, slots
  const std::byte* ring_slots = nullptr;        // 4 KiB-aligned, or direct I/O is not used
  std::uint64_t sync_interval_ns = 10'000'000;  // 0: only on request and at segment ends
  Retention retention;
  unsigned file_permissions = 0600;
  bool try_direct_io = true;
  LogHook log;  // of what no status can say; may be empty
};

struct ArchiverCounters {
  std::uint64_t writes = 0;  // of blocks
  std::uint64_t bytes_written = 0;
  std::uint64_t syncs = 0;        // cycles that moved durable
  std::uint64_t sync_ns_max = 0;  // of such a cycle
  Durations sync_durations;       // of all of them
  std::uint64_t segments_prepared = 0;
  std::uint64_t segment_waits = 0;  // times archiving waited for a segment
  std::uint64_t segments_pruned = 0;
  std::uint64_t prune_failures = 0;  // files that could not be unlinked, and syncs after it
  std::uint64_t index_failures = 0;  // cycles whose index could not be written or synced
};

class Archiver {
 public:
  // For the last session of `sessions`, which has no end. Prepares the
  // first segments and synchronously reserves the first sequences, so that limit() is
  // at least first - 1 + capacity (rounded by blocks) when it returns. Disk, queue and sessions
  // outlive the archiver; the queue has nothing in flight.
  // Errors: kInvalidArgument, kNoSpace (bytes needed and free), kNotPermitted, kDamaged, kSystem.
  static absl::StatusOr<std::unique_ptr<Archiver>> start(WriteQueue& queue, SessionLog& sessions,
                                                         const ArchiverOptions& options);
  // Waits for what is in flight, however long it takes, and logs every kStallNsMax that it does. A
  // deadline would be no end, and not safe:
  //  - What the disk has begun cannot be cancelled: io_uring reaches only what still queues.
  //  - The memory under a request is the archiver's and the ring's. Given back, it might be written
  //    as what it has become by then, over a block that holds durable records.
  //  - A process that ends instead waits for the same requests in the kernel, and for so long the
  //    kernel holds the publisher's lock.
  // The publisher has told its subscribers and removed its names before it comes to this.
  ~Archiver();
  Archiver(const Archiver&) = delete;
  Archiver& operator=(const Archiver&) = delete;

  // One turn: reaps completions, moves archived and durable, submits what is due, prepares
  // segments. Waits for completions up to wait_ns if and only if something is in flight and nothing
  // is due. Returns the monotonic time by which it wants the next turn even if head does not move:
  // now_ns while something is in flight (the next turn waits for it), UINT64_MAX if there is
  // nothing to do.
  std::uint64_t step(Sequence head, std::uint64_t now_ns, std::uint64_t wall_ns,
                     std::uint64_t wait_ns);

  Sequence archived() const;
  Sequence durable() const;
  Sequence oldest() const;
  // The highest sequence that may be written into the ring now. After a failure nothing waits for
  // the disk any more: the reservation is the limit until the end is recorded, then there is none
  // (kSequenceMax). An owner that would rather stop looks at condition().
  Sequence limit() const;
  // kFailed or kShed from the failure on; failure() then says what, where and errno. The end is
  // recorded in the next turn, which may take a sick disk long: before it the owner shows this, so
  // that whoever settles the session after a kill knows, and then limit().
  JournalCondition condition() const;
  const absl::Status& failure() const;  // kJournalFailed
  // Whether `sessions` says how the session ended. Until it does, the ring's page 1 is all that
  // tells a failed journal from a power cut.
  bool end_recorded() const;
  ArchiverCounters counters() const;

  // Wants everything up to `through` (clamped to head) durable as soon as possible.
  void request_flush(Sequence through);
  // Wants whole segments below this sequence removed, of those that are durable now (so never the
  // one that holds durable + 1).
  void request_prune(Sequence below);
  // What was requested is not all gone yet. A journal that fails or closes meanwhile never is done.
  bool pruning() const;
  // Ends the journal as failed without an I/O error (--on-journal-lag shed). The owner shows
  // condition() and limit() before the next turn.
  void shed();

  // The clean end: makes everything up to head durable, removes the segments that were prepared in
  // vain, gives back what the last one has reserved, and appends the `end` entry. The caller keeps
  // head still. On a failed journal it only tries to append `end` with kFailed, if that was not
  // tried before; failure() is returned.
  absl::Status close(Sequence head, std::uint64_t wall_ns);

 private:
  struct State;
  explicit Archiver(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
