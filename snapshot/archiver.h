// Writes the ring to the journal: blocks from the ring's own memory, sums, reservations, syncs.
//
// Sans time and sans thread: the owner (the publisher's file thread, or a test) calls step() again
// and again with the head it sees and the clock it has; step() never sleeps longer than it is told
// to. All file access goes through Disk and WriteQueue.
//
// The guarantee it gives (DESIGN 6): a slot whose sequence is at most limit() may be overwritten or
// written, because everything that leaves the ring thereby is archived.
//
// Invariants
//  1. archived = end of the contiguous completed writes; durable ≤ archived ≤ head.
//  2. Never two writes in flight to one block; a partial block goes from a padded copy.
//  3. durable moves only after: writes up to W complete, data synced, sums written and synced.
//  4. No sequence beyond the synced reservation is ever allowed by limit().
//  5. The first failed write or sync is final: durable freezes, nothing more is written.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/journal_format.h"
#include "proto/shared_words.h"
#include "snapshot/io.h"
#include "snapshot/journal_geometry.h"
#include "snapshot/session_log.h"

namespace lapwing {

struct Retention {
  std::uint64_t bytes_max = 0;  // of segment files; 0: no limit
  std::uint64_t age_ns_max = 0;  // of a segment's newest record; 0: no limit
};

struct ArchiverOptions {
  std::string directory;  // journal/<journal id>, exists
  std::string schema;
  Id128 journal_id;
  Id128 session_id;
  JournalGeometry geometry;
  Sequence first = 1;      // of this session: archived and durable start at first - 1
  Sequence oldest = 1;     // oldest retained sequence at the start
  std::uint64_t capacity = 0;  // of the ring, slots
  const std::byte* ring_slots = nullptr;
  std::uint64_t sync_interval_ns = 10'000'000;  // 0: only on request and at segment ends
  Retention retention;
  unsigned file_permissions = 0600;
  bool try_direct_io = true;
};

struct ArchiverCounters {
  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t sync_ns_max = 0;
  std::uint64_t segments_created = 0;
  std::uint64_t segments_pruned = 0;
};

class Archiver {
 public:
  // Prepares the first segments and synchronously reserves the first sequences, so that limit() is
  // at least first - 1 + capacity (rounded by blocks) when it returns.
  static absl::StatusOr<std::unique_ptr<Archiver>> start(Disk& disk, WriteQueue& queue,
                                                         SessionLog& sessions,
                                                         const ArchiverOptions& options);
  ~Archiver();

  // One turn: reaps completions, moves archived and durable, submits what is due, prepares
  // segments. Waits for completions up to wait_ns if and only if something is in flight and nothing
  // else is due. Returns the monotonic time by which it wants the next turn even if head does not
  // move (UINT64_MAX: none; everything up to head is durable).
  std::uint64_t step(Sequence head, std::uint64_t now_ns, std::uint64_t wall_ns,
                     std::uint64_t wait_ns);

  Sequence archived() const;
  Sequence durable() const;
  Sequence oldest() const;
  // The highest sequence that may be written into the ring now.
  Sequence limit() const;
  // kFailed once the first write or sync failed; failure() then says what, where and errno.
  JournalCondition condition() const;
  const absl::Status& failure() const;
  const ArchiverCounters& counters() const;

  // Wants everything up to `through` (clamped to head) durable as soon as possible.
  void request_flush(Sequence through);
  // Wants whole segments below this sequence removed (never the one that holds durable + 1).
  void request_prune(Sequence below);
  // Ends the journal as failed without an I/O error (--on-journal-lag shed).
  void shed();

  // The clean end: makes everything up to head durable and appends the `end` entry. The caller
  // keeps head still. On a failed journal it only tries to append `end` with kFailed.
  absl::Status close(Sequence head, std::uint64_t wall_ns);

 private:
  struct State;
  explicit Archiver(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
