// Writes a bus directory whose records come from another host's journal: the same journal id,
// sessions and sequences, the same slots in the same places. It does not depend on messages or
// on the network. docs/explanation/relay.md describes a mirror's files and the order of its syncs.
//
// A mirror makes no decision that the origin has not made: it creates no sequence, no session, no
// void and no end. After a kill or a power cut, open() keeps what the sums prove and zeroes the
// rest, and the caller gives those records again.
//
// Order of the calls, for each session of the origin: begin(), put() and put_absent() in the order
// of sequences, end(). A session that open() finds without an end is begun again, with equal
// values. It then continues at next().
//
// Invariants
//  1. Slot n contains the origin's record n or nothing.
//  2. The begin row of a session is synced before its ring has a name. Everything before an end or
//     an absence is durable before its row is written, and an absence before any record behind it
//     is durable.
//  3. durable() is at most the origin's durable (set_origin), or its end's `last`.
//
// Thread safety: one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/gap.h"
#include "lapwing/journal_state.h"
#include "lapwing/log.h"
#include "lapwing/publisher.h"
#include "lapwing/sequence.h"
#include "lapwing/thread_placement.h"
#include "proto/relay_frames.h"

namespace lapwing {

// Fields without a comment mean the same as in PublisherOptions.
struct MirrorOptions {
  std::string directory = {};  // of the bus; created if missing
  std::uint64_t capacity = 0;  // slots; 0: as many as the origin's ring has
  std::string ring_directory = {};
  bool huge_pages = false;
  std::string journal_directory = {};
  std::chrono::nanoseconds sync_interval = std::chrono::milliseconds(10);
  std::uint64_t retain_bytes = 0;
  std::chrono::nanoseconds retain_age = kNever;
  std::optional<unsigned> group = {};
  ThreadPlacement threads = {};
  LogHook log = {};
  // Called on a thread of the mirror when a reader asks for durable records up to `through`. It
  // must not wait. Empty: the reader waits for the origin's next sync.
  std::function<void(Sequence through)> on_flush_wanted = {};
};

// The state of the origin, as of its last beat.
struct MirrorOrigin {
  Id128 session_id = {};  // its newest session; the rest describes this session and its journal
  Sequence head = 0;      // 0: no records yet
  Sequence durable = 0;   // at most head
  JournalState journal_state = JournalState::kNone;
  int sys_errno = 0;  // of a failed journal
  RelayPublisherState publisher = RelayPublisherState::kSilent;
  std::optional<std::uint64_t> beat_monotonic_ns = {};  // when this was received; nullopt: never
};

// What a session needs to begin.
struct MirrorBegin {
  RelaySession session{};        // its end, if it has one, limits what may be put
  RelayBus bus{};                // of the bus: name, capacity, restamped. The rest is unused
  std::string description = {};  // of the records, for session.schema_hash; empty: hash 0
  std::string metadata = {};     // of the feed, for session.metadata_hash; empty: hash 0
  // Used if the mirror does not have the journal yet: the first sequence of a segment. The mirror
  // records that everything before it is pruned, and begins there.
  Sequence oldest = 1;
};

// Why `theirs` is not the session `ours`; empty if it is. Times are ignored, because each host has
// its own, and so is the end if only one of them has one.
std::string session_difference(const RelaySession& ours, const RelaySession& theirs);

// Errors of all calls that write:
//   kReset          the message begins with "contradiction": what was given differs from what the
//                   mirror has. The mirror stays as it is
//   kInvalidArgument  the call is out of order, or a value violates a limit; nothing was done
//   kJournalFailed  a write or sync failed. Final: close the mirror
//   kNoSpace, kTimedOut  nothing is lost: call again with the same arguments
class MirrorWriter {
 public:
  virtual ~MirrorWriter() = default;

  // The sessions that the mirror lists, oldest first, with the numbers and hashes of the origin's
  // rows and the mirror's times. Valid until the next call of begin() or end().
  virtual const std::vector<RelaySession>& sessions() const = 0;
  // The first sequence that the mirror lacks in its newest journal, in the ring and in the journal.
  // 0 before the first session. put() and put_absent() continue there. After an end, it is the first
  // sequence of the next session, but not for a failed journal, whose records continue.
  virtual Sequence next() const = 0;
  // The newest durable sequence of the newest journal.
  virtual Sequence durable() const = 0;

  // Begins a session: writes description and metadata, then its row, synced, and then makes the
  // ring. If the session is the last listed one and has no end, only the ring is made. A session
  // that ended before next() gets no ring.
  // Errors: also kDamaged (description or metadata do not have their hash), those of
  // Publisher::open.
  virtual absl::Status begin(const MirrorBegin& begin) = 0;
  // Adds records, end to end, the first one with sequence `first`. Records that the mirror has are
  // compared, and skipped if retention has removed them. The others must begin at next() and belong
  // to the session. `time_ns` (UTC): by then all of them were published. Waits for the disk, also
  // for a full one, if a whole ring is not archived. After kTimedOut, next() shows how many were
  // added.
  virtual absl::Status put(Sequence first, std::span<const std::byte> records,
                           std::uint64_t time_ns, Deadline deadline) = 0;
  // Records that the mirror will never have `first` (= next()) to `last`. `last` is the end of a
  // block, or of the session if that has ended. `cause` is that of the gap which readers get:
  // kPruned, kDamaged or kUpstream (never archived) for the answers of the origin, and kNotRelayed
  // if the mirror gives up. Before that, it waits until everything before `first` is durable.
  // kTimedOut: the origin's durable is not there yet, or the disk is full. Readers of the ring are
  // disconnected, and find the session's new ring.
  virtual absl::Status put_absent(Sequence first, Sequence last, GapCause cause,
                                  Deadline deadline) = 0;
  // Ends the session as the origin did. The mirror must have everything up to session.last. If it
  // has more and the origin was cut, the rest is kept in <segment>.cut-<session id>. If the journal
  // failed, records continue in the ring until the next session begins.
  virtual absl::Status end(const RelaySession& session, Deadline deadline) = 0;
  // Raises the limit of durable, and disconnects the readers of the ring if the publisher is dead.
  // Has no effect on another session than `origin.session_id`: a later session of the journal does
  // not prove that this one was not cut. The header of each message has these values, so a mirror
  // that catches up without beats can call it.
  virtual void set_origin(const MirrorOrigin& origin) = 0;

  // Waits until `through` is durable. kTimedOut: the origin's durable is not there yet, or the disk
  // is slow.
  virtual absl::Status flush(Sequence through, Deadline deadline) = 0;
  // Waits until everything is durable, but not beyond the deadline: the records that are not are
  // given again after the next open(). Then removes the ring. Writes no end: the session continues
  // with the next open(). No other call may follow.
  virtual absl::Status close(Deadline deadline) = 0;
};

// The implementation. Creates the bus directory if it is missing. Settles what a killed process
// left: zeroes everything behind what the sums prove, and removes its ring.
// Errors: kInUse (a publisher or another mirror is running, or the bus belongs to this host),
// kDamaged with file, offset and sequence, kNoSpace, kNotPermitted.
absl::StatusOr<std::unique_ptr<MirrorWriter>> open_mirror(MirrorOptions options);

}  // namespace lapwing
