// Verifies ranges of a journal without delivering them, for a starting publisher and for `verify`.
//
// Thread safety: no state; one thread at a time may use the Disk.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/sequence.h"
#include "snapshot/journal/absent_file.h"
#include "snapshot/journal/journal_damage.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

struct SequenceRange {
  Sequence first = 1;
  Sequence last = 0;  // inclusive; below first: empty

  bool is_empty() const { return last < first; }
  friend bool operator==(const SequenceRange&, const SequenceRange&) = default;
};

constexpr SequenceRange intersect(const SequenceRange& a, const SequenceRange& b) {
  return {a.first > b.first ? a.first : b.first, a.last < b.last ? a.last : b.last};
}

// The sequences of this journal that were used for records, ascending: its sessions, without voids
// and without the ranges of `absent`, which are ascending. A session without an end counts up to
// `open_last`.
std::vector<SequenceRange> record_ranges(const SessionLog& sessions, const Id128& journal_id,
                                         Sequence open_last,
                                         std::span<const AbsentRange> absent = {});

enum class ProofDepth {
  kNames,    // the segments exist
  kHeaders,  // … and their headers are valid
  kRecords,  // … and so is every record: sum and stamp
};

// Called with the number of records verified or skipped since the last call.
using ProofProgress = std::function<void(std::uint64_t records)>;

// Verifies the records in `ranges` that are within `wanted`, which must be durable, and passes any
// damage to the sink. Errors: those of the disk only.
absl::Status prove(const JournalFiles& files, const std::vector<SequenceRange>& ranges,
                   const SequenceRange& wanted, ProofDepth depth, const DamageSink& sink,
                   const ProofProgress& progress = nullptr);

}  // namespace lapwing
