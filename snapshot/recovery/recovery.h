// Settles the last session when a publisher starts, according to the table in
// docs/explanation/durability.md.
//
// snapshot/recovery/settle_decision.h contains the table. Everything is examined before the first
// write: if something at or below durable is damaged, nothing is changed. The caller holds the
// publisher's lock. After a kill at any point, running it again has the same result.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/journal_state.h"
#include "lapwing/log.h"
#include "os/io.h"
#include "proto/ring_layout.h"
#include "snapshot/journal/journal_geometry.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

// The ring file of an ended session, mapped by the caller.
struct RingImage {
  RingHeader header;  // a checked copy
  const RingWords* words = nullptr;
  const std::byte* slots = nullptr;
};

// Maps the ring file at `path` for the duration of the recovery. nullopt if it does not exist or
// does not belong to this journal's directory. kInUse: its publisher is running.
using RingOpener = std::function<absl::StatusOr<std::optional<RingImage>>(const std::string& path)>;

struct Settled {
  Settlement how = Settlement::kFresh;
  Id128 journal_id;                         // to continue; zero if a new one is needed
  std::optional<JournalGeometry> geometry;  // of the continued journal
  Sequence next = 1;                        // first sequence of the next session
  Sequence oldest = 1;                      // oldest sequence the journal retains
  Sequence last_present = 0;                // newest sequence the journal holds
  Sequence last_void = 0;                   // end of the newest void, 0 if there is none
  std::optional<std::pair<Sequence, Sequence>> new_void;  // recorded by this settlement
  std::string ring_path;      // of the settled session; the caller unlinks it at the end
  std::vector<LogEntry> log;  // what was done
};

// Settles the last session of `journal_root` (the directory that contains `sessions`). It writes
// the records that only the ring holds, or cuts the journal, and then writes the session's `end`.
// Each step is synced. If there is no damage, the continued journal has been verified: that its
// segments exist, the last session's headers and sums, and every record in the segments at its end.
// Errors: kDamaged with file, offset and sequence (nothing is changed); the error of open_ring if
// it cannot map a ring file; kNoSpace, kNotPermitted, kSystem.
absl::StatusOr<Settled> settle(Disk& disk, const std::string& journal_root, SessionLog& sessions,
                               const Id128& boot_id, const RingOpener& open_ring);

// Returns the error with which settle() would refuse. Changes nothing.
absl::Status check_settle(Disk& disk, const std::string& journal_root, SessionLog& sessions,
                          const Id128& boot_id, const RingOpener& open_ring);

// How much of a source is in a journal.
struct SourceProgress {
  bool by_content = false;    // found by its fingerprint
  std::uint64_t offset = 0;   // of the source's newest session
  std::uint64_t records = 0;  // published by this session
  Id128 journal_id;
  Sequence last = kNoSequence;  // its newest record; kNoSequence: none
};

// Finds the newest session of a source, by its fingerprint, or by its id if the session or the
// caller has no fingerprint. nullopt if there is none. All sessions must have ended.
std::optional<SourceProgress> find_source(const SessionLog& sessions, std::uint64_t source_id,
                                          std::uint64_t fingerprint);

}  // namespace lapwing
