// What a starting publisher finds and what it does about it: docs/explanation/durability.md, row by row.
//
// snapshot/recovery/settle_decision.h is the table. All that is looked at is looked at before the
// first write: if something at or below durable is damaged, nothing is changed. The caller holds
// the publisher's lock. Running it again after a kill at any point gives the same end.
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

// The ring file of a dead session, mapped by the caller.
struct RingImage {
  RingHeader header;  // a checked copy
  const RingWords* words = nullptr;
  const std::byte* slots = nullptr;
};

// Maps the ring file at `path` for as long as recovery runs; nullopt if it is not there, or not of
// the directory whose journal this is. kInUse: its publisher lives.
using RingOpener = std::function<absl::StatusOr<std::optional<RingImage>>(const std::string& path)>;

struct Settled {
  Settlement how = Settlement::kFresh;
  Id128 journal_id;                         // to continue; zero where a new one is to be begun
  std::optional<JournalGeometry> geometry;  // of the journal that continues
  Sequence next = 1;                        // first sequence of the session to come
  Sequence oldest = 1;                      // oldest sequence the journal retains
  Sequence last_present = 0;                // newest sequence the journal holds
  Sequence last_void = 0;                   // end of the newest void, 0 if there is none
  std::optional<std::pair<Sequence, Sequence>> new_void;  // recorded by this settlement
  std::string ring_path;      // of the settled session; unlinked by the caller once all is done
  std::vector<LogEntry> log;  // what was done
};

// Settles the last session of `journal_root` (the directory that holds `sessions`): writes what
// only the ring holds, or cuts, then the session's `end`; each synced. Without damage the journal
// that goes on is proven: that its segments are there, the last session's headers and sums, and
// every record of the segments at its end. Errors: kDamaged with file, offset and sequence, and
// nothing is changed; what open_ring says of a ring file that it cannot map; kNoSpace,
// kNotPermitted, kSystem.
absl::StatusOr<Settled> settle(Disk& disk, const std::string& journal_root, SessionLog& sessions,
                               const Id128& boot_id, const RingOpener& open_ring);

// What settle() would refuse with; changes nothing.
absl::Status check_settle(Disk& disk, const std::string& journal_root, SessionLog& sessions,
                          const Id128& boot_id, const RingOpener& open_ring);

// How far the journal holds a source.
struct SourceProgress {
  bool by_content = false;    // found by its fingerprint
  std::uint64_t offset = 0;   // of its newest session
  std::uint64_t records = 0;  // that this session published
  Id128 journal_id;
  Sequence last = kNoSequence;  // its newest record; kNoSequence: it has none
};

// Finds the newest session of a source, by its fingerprint, or by its id if the session or the
// caller has no fingerprint. nullopt if there is none. All sessions must have ended.
std::optional<SourceProgress> find_source(const SessionLog& sessions, std::uint64_t source_id,
                                          std::uint64_t fingerprint);

}  // namespace lapwing
