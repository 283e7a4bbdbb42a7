// Verifies a whole journal root: sessions and their copy, every header, sum and stamp at or below
// durable, the continuity of segments, the indexes, lengths and kinds of files, and whether a
// publisher could start. Changes nothing; works beside a running publisher.
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

inline constexpr std::size_t kFindingsMax = 1000;  // listed; the rest is counted

struct VerifyFinding {
  JournalDamage damage;
  bool loses_records = false;  // false: a second copy or an index, which can be made anew
  std::string remedy;
};

struct VerifiedJournal {
  Id128 journal_id;
  std::uint64_t sessions = 0;
  std::uint64_t segments = 0;
  Sequence oldest = 1;        // retained
  Sequence durable = 0;       // what was verified goes up to here
  std::uint64_t records = 0;  // that durable and the sessions promise, from oldest on
  std::uint64_t damaged = 0;  // of these
  std::uint64_t voids = 0;
  std::uint64_t void_records = 0;
};

struct VerifyReport {
  std::vector<VerifiedJournal> journals;  // in the order they were begun
  std::vector<VerifyFinding> findings;
  std::uint64_t findings_left_off = 0;
  bool loses_records = false;

  bool is_clean() const { return findings.empty(); }
};

// Called now and then, with records looked at and records in all.
using VerifyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// What verify_journal() needs to check whether a start would be refused.
struct VerifyStart {
  Id128 boot_id;
  RingOpener open_ring;  // as for settle(); its kInUse: a publisher runs
};

// `journal_root` holds `sessions`. Errors: kNotFound, kNotPermitted, kAbiMismatch, kSystem; damage
// is not an error but a finding.
absl::StatusOr<VerifyReport> verify_journal(Disk& disk, const std::string& journal_root,
                                            const VerifyProgress& progress = nullptr,
                                            const VerifyStart& start = {});

}  // namespace lapwing
