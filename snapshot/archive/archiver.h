// Writes the ring to the journal: blocks directly from the ring's memory, plus sums, reservations
// and syncs.
//
// It has no clock and no thread. The owner (the publisher's file thread, or a test) calls step()
// repeatedly with the current head and time. step() never sleeps longer than its argument allows.
// All file access uses Disk and WriteQueue. Opening and naming segments, and reserving sequences
// (two syncs), are synchronous; other requests continue meanwhile.
//
// The guarantee (docs/explanation/durability.md): the owner may write any sequence up to limit() to
// its slot, because every record that this write overwrites is archived.
//
// Invariants
//  1. archived = end of the contiguous completed writes; durable ≤ archived ≤ head.
//  2. Two writes to one block are never in flight together. A partial block is written from a
//     private, zero-padded copy.
//  3. durable moves only after all of these: writes up to W are complete and synced, their sums are
//     written, and the sums are synced.
//  4. limit() never allows a sequence beyond the synced reservation, unless the journal has failed
//     and the session's end is recorded, or cannot be recorded.
//  5. The first failed write or sync of records, sums or `sessions` is final: durable freezes, and
//     nothing more is submitted.
//  6. For a session with an origin (session_origin.h), durable is at most the origin's. If more of a
//     block is archived than the origin has durable, its sum would prove too much, so durable then
//     ends with a whole block.
//
// Errors that end a journal endanger a record, or could cause a sequence to be used twice:
//
//   error                                      reason
//   -----------------------------------------  ---------------------------------------------------
//   a write or sync of .jnl or .sum            records, or their proof, may be missing
//   preparing the needed segment fails twice   records cannot be stored
//   a .jnl or .sum with records was removed    writes to it are lost
//   a reservation or the end cannot be synced  sequences might be used twice
//   `sessions` and its copy were removed       the same, after a power cut
//   nothing completes during the close         records may be missing
//   shed()                                     requested
//
// After any other error, the journal continues. Such an error is counted and logged once:
// - A write or sync of .idx failed. The index is only a hint.
// - Retention or the close cannot remove a file, or the following directory sync failed.
// - The close cannot release reserved space.
// - An unused segment was removed. It is prepared again.
// - Either `sessions` or its copy was removed. The next start recreates it.
// - `retention` was removed. It is recreated at once, and no segment is
//   removed until that succeeds.
//
// If the disk is full while a segment is prepared in advance, the journal has not failed yet. The
// preparation is retried until the segment is needed, and once more at that point.
//
// Parts: BlockWriter (blocks to segments), SegmentPool (preparing segments in advance), SyncCycle
// (archived to durable), SyncSchedule (timing), SegmentRetention (removing the oldest segments).
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
#include "snapshot/archive/session_origin.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

inline constexpr std::uint64_t kReservationStepMin = std::uint64_t{1} << 22;  // sequences
inline constexpr std::uint64_t kReservationLaps = 4;
inline constexpr std::uint64_t kReservationSeconds = 16;  // at the rate so far
// A reservation is at least the session's record count divided by this. So the number of entries
// grows logarithmically with the session's length: about 50,000 entries in ten years at ten million
// records per second.
inline constexpr std::uint64_t kReservationShare = 2048;

// The number of sequences that a session with `records` published records reserves beyond head.
// `in_time`: the records expected within kReservationSeconds.
constexpr std::uint64_t reservation_step(std::uint64_t capacity, std::uint64_t in_time,
                                         std::uint64_t records) {
  return std::max(std::max(kReservationStepMin, kReservationLaps * capacity),
                  std::max(in_time, records / kReservationShare));
}

inline constexpr std::uint64_t kSegmentsAheadMin = 2;
// Slot bytes per segment. The open segments' sums are in memory; see kSumMemoryBytesMax.
inline constexpr std::uint64_t kSegmentSlotBytesMax = std::uint64_t{2} << 30;
inline constexpr std::uint64_t kSegmentSecondsAhead = 2;
// Starting and closing fail if the disk completes nothing for this long while they wait. The
// destructor logs its wait at this interval.
inline constexpr std::uint64_t kStallNsMax = 60'000'000'000;
// The interval between checks of the names of the open files.
inline constexpr std::uint64_t kNamesCheckNs = 1'000'000'000;

struct ArchiverOptions {
  JournalFiles journal;  // its directory must exist
  SchemaLabel schema;
  Sequence first = 1;          // of this session: archived and durable start at first - 1
  Sequence oldest = 1;         // oldest retained sequence at the start
  std::uint64_t capacity = 0;  // slots of the ring
  const std::byte* ring_slots = nullptr;        // if not 4 KiB-aligned, no direct I/O
  std::uint64_t sync_interval_ns = 10'000'000;  // 0: only on request and at segment ends
  Retention retention;
  SessionOrigin* origin = nullptr;  // of a mirror's session; null: this process publishes it
  unsigned file_permissions = 0600;
  bool try_direct_io = true;
  LogHook log;  // for events that are in no status; may be empty
};

struct ArchiverCounters {
  std::uint64_t writes = 0;  // block writes
  std::uint64_t bytes_written = 0;
  std::uint64_t syncs = 0;        // cycles that moved durable
  std::uint64_t sync_ns_max = 0;  // the longest such cycle
  Durations sync_durations;       // of all such cycles
  std::uint64_t segments_prepared = 0;
  std::uint64_t segment_waits = 0;  // how often archiving waited for a segment
  std::uint64_t segments_pruned = 0;
  std::uint64_t prune_failures = 0;  // files not unlinked, and failed syncs after unlinking
  std::uint64_t index_failures = 0;  // cycles whose index could not be written or synced
};

class Archiver {
 public:
  // Starts an archiver for the last session in `sessions`, which must not have an end. Prepares the
  // first segments and synchronously reserves the first sequences. On return, limit() is at least
  // first - 1 + capacity (rounded to blocks). Disk, queue and sessions must outlive the archiver.
  // The queue must have nothing in flight.
  // Errors: kInvalidArgument, kNoSpace (bytes needed and free), kNotPermitted, kDamaged, kSystem.
  static absl::StatusOr<std::unique_ptr<Archiver>> start(WriteQueue& queue, SessionLog& sessions,
                                                         const ArchiverOptions& options);
  // Waits for all requests in flight, however long that takes, and logs the wait every kStallNsMax.
  // A deadline would not be safe:
  // - Requests that the disk has started cannot be cancelled: io_uring cancels only queued ones.
  // - A request uses memory of the archiver or the ring. If that memory were freed and reused, the
  //   new contents might overwrite a block that holds durable records.
  // - Ending the process instead does not help. The kernel waits for the same requests, and holds
  //   the publisher's lock until they complete.
  // By this time, the publisher has informed its subscribers and removed its names.
  ~Archiver();
  Archiver(const Archiver&) = delete;
  Archiver& operator=(const Archiver&) = delete;

  // Runs one iteration: reaps completions, moves archived and durable, submits what is due, and
  // prepares segments. Waits up to wait_ns for completions, if and only if something is in flight
  // and nothing is due. Returns the monotonic time by which the next call is needed even if head
  // does not move. The time is now_ns while something is in flight (the next call waits for it), or
  // UINT64_MAX if there is nothing to do.
  std::uint64_t step(Sequence head, std::uint64_t now_ns, std::uint64_t wall_ns,
                     std::uint64_t wait_ns);

  Sequence archived() const;
  Sequence durable() const;
  Sequence oldest() const;
  // The highest sequence that may be written into the ring now. After a failure, the publisher no
  // longer waits for the disk: the limit is the reservation until the end is recorded, and then
  // kSequenceMax. An owner that must stop on a failure checks condition().
  Sequence limit() const;
  // kFailed or kShed after a failure; failure() then returns the error with its path and errno. The
  // next step() records the end, which can take a long time on a faulty disk. Before that step, the
  // owner must publish this condition, and then limit(), so that the start that settles the session
  // after a kill finds the condition.
  JournalCondition condition() const;
  const absl::Status& failure() const;  // kJournalFailed
  // True if `sessions` records how the session ended. Until then, only page 1 of the ring
  // distinguishes a failed journal from a power cut.
  bool end_recorded() const;
  ArchiverCounters counters() const;

  // Requests that everything up to `through` (clamped to head) becomes durable as soon as possible.
  void request_flush(Sequence through);
  // Requests the removal of whole segments below this sequence that are durable now. This never
  // includes the segment that holds durable + 1.
  void request_prune(Sequence below);
  // True while a requested removal is not complete. It stays true if the journal fails or closes
  // first.
  bool pruning() const;
  // Ends the journal as failed without an I/O error (--on-journal-lag shed). The owner must publish
  // condition() and limit() before the next step().
  void shed();

  // Ends the journal cleanly: makes everything up to head durable, removes unused segments,
  // releases the unused space of the last segment, and appends the `end` entry. head must not move
  // during the call. If the journal has failed, it only tries to append an `end` with kFailed,
  // unless that was tried before, and returns failure(). For a session with an origin, it makes
  // archived records durable up to the origin's durable, and appends nothing.
  absl::Status close(Sequence head, std::uint64_t wall_ns);

 private:
  struct State;
  explicit Archiver(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
