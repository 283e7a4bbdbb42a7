// Verifies a whole journal root: `sessions` and its copy, every header, sum and stamp at or below
// durable, absent ranges, indexes, lengths and kinds of files, and that segments are contiguous and
// a publisher could start. Changes nothing, and may run alongside a publisher.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "snapshot/journal/journal_damage.h"
#include "snapshot/recovery/recovery.h"

namespace lapwing {

inline constexpr std::size_t kFindingsMax = 1000;  // in the list; the rest are only counted

struct VerifyFinding {
  JournalDamage damage;
  bool loses_records = false;  // false: only a second copy or an index, which can be recreated
  std::string remedy;
};

struct VerifiedJournal {
  Id128 journal_id;
  std::uint64_t sessions = 0;
  std::uint64_t segments = 0;
  Sequence oldest = 1;        // retained
  Sequence durable = 0;       // end of the verified part
  std::uint64_t records = 0;  // from oldest on, according to durable and the sessions
  std::uint64_t damaged = 0;  // how many of these are damaged
  std::uint64_t voids = 0;
  std::uint64_t void_records = 0;
  std::uint64_t absent = 0;  // ranges that the origin of a mirror does not have
  std::uint64_t absent_records = 0;
};

struct VerifyReport {
  std::vector<VerifiedJournal> journals;  // in the order in which they were begun
  std::vector<VerifyFinding> findings;
  std::uint64_t findings_left_off = 0;
  bool loses_records = false;

  bool is_clean() const { return findings.empty(); }
};

// Called periodically, with the number of records checked and the total.
using VerifyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// The arguments that verify_journal() needs to check whether a start would be refused.
struct VerifyStart {
  Id128 boot_id;
  RingOpener open_ring;  // as for settle(); kInUse: a publisher is running
};

// `journal_root` contains `sessions`. Errors: kNotFound, kNotPermitted, kAbiMismatch, kSystem.
// Damage is not an error but a finding.
absl::StatusOr<VerifyReport> verify_journal(Disk& disk, const std::string& journal_root,
                                            const VerifyProgress& progress = nullptr,
                                            const VerifyStart& start = {});

}  // namespace lapwing
