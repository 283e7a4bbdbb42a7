// A gap: a range of sequences that a subscriber did not get. A gap is a value, not an error.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>

#include "lapwing/sequence.h"

namespace lapwing {

enum class GapCause : std::uint32_t {
  kLapped = 1,   // the publisher overwrote the slots before they were read
  kSession = 2,  // between the last record of a dead session and the first one of the next
  kVoid = 3,     // the range will never exist; recorded after a power cut
  kPruned = 4,   // retention removed the range from the journal
  kDamaged = 5,  // the journal's bytes for the range fail their checksum or are missing
  // Causes on a bus that mirrors a bus on another machine. This release does not produce them.
  kNotRelayed = 6,  // the range did not arrive from the origin
  kUpstream = 7,    // the origin lost the range
};

struct Gap {
  Sequence first = kNoSequence;
  Sequence last = kNoSequence;    // inclusive
  Sequence resume = kNoSequence;  // the next sequence that will be tried in the ring
  GapCause cause = GapCause::kLapped;
  bool fillable = false;  // the journal contains the range

  std::uint64_t count() const { return last - first + 1; }
};

constexpr const char* name_of(GapCause cause) {
  switch (cause) {
    case GapCause::kLapped:
      return "lapped";
    case GapCause::kSession:
      return "session";
    case GapCause::kVoid:
      return "void";
    case GapCause::kPruned:
      return "pruned";
    case GapCause::kDamaged:
      return "damaged";
    case GapCause::kNotRelayed:
      return "not-relayed";
    case GapCause::kUpstream:
      return "upstream";
  }
  return "unknown";
}

}  // namespace lapwing
