// The table in docs/explanation/durability.md as a function that maps findings to an action. The
// first row that matches applies.
//
//   row        finding                                       action
//   ---------  --------------------------------------------  --------------------------------------
//   kRefuse    damage at or below durable, or in a header    nothing; lapwing verify, repair
//   kFresh     no session yet                                new journal id, sequence 1
//   kReset     the last session's end is failed              new journal id, sequence 1
//   kContinue  the last session has an end                   continue after it
//   kUnused    no reservation was synced: nothing published  end without records, continue
//   kFail      same boot, ring file, failed on its page 1    end failed; new journal id, sequence 1
//   kRecover   same boot, ring file, complete tail           write what the ring holds, continue
//   kCut       anything else                                 cut at durable, the rest is a void
//
// Damage in a journal that is not continued (kFresh, kReset, kFail) does not prevent a start,
// and is not searched for.
//
// Thread safety: plain values and a pure function.
#pragma once

#include <cstdint>

#include "proto/journal_format.h"

namespace lapwing {

struct SettleFacts {
  bool has_session = false;
  SessionEnd end = SessionEnd::kNone;  // of the last session
  bool has_reservation = false;
  bool same_boot = false;
  bool has_ring = false;       // the ring file of the last session
  bool ring_failed = false;    // its page 1 shows that the journal failed or was shed
  bool tail_is_whole = false;  // disk and ring together hold all from durable to head
  bool damaged = false;        // damage at or below durable, or in a header
};

enum class SettleRow : std::uint32_t {
  kRefuse = 1,
  kFresh = 2,
  kReset = 3,
  kContinue = 4,
  kUnused = 5,
  kFail = 6,
  kRecover = 7,
  kCut = 8,
};

constexpr SettleRow decide(const SettleFacts& facts) {
  if (facts.damaged) return SettleRow::kRefuse;
  if (!facts.has_session) return SettleRow::kFresh;
  if (facts.end == SessionEnd::kFailed) return SettleRow::kReset;
  if (facts.end != SessionEnd::kNone) return SettleRow::kContinue;
  if (!facts.has_reservation) return SettleRow::kUnused;
  const bool killed = facts.same_boot && facts.has_ring;
  if (killed && facts.ring_failed) return SettleRow::kFail;
  if (killed && facts.tail_is_whole) return SettleRow::kRecover;
  return SettleRow::kCut;
}

}  // namespace lapwing
