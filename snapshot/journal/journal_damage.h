// Damage at one position in a journal.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "lapwing/sequence.h"

namespace lapwing {

struct JournalDamage {
  std::string file;
  std::uint64_t offset = 0;
  Sequence first = kNoSequence;  // first … last cannot be trusted; kNoSequence: no record is lost
  Sequence last = kNoSequence;
  std::string what;

  std::string text() const {
    std::string line = absl::StrCat(file, " at offset ", offset);
    if (first != kNoSequence) absl::StrAppend(&line, ", sequences ", first, " to ", last);
    absl::StrAppend(&line, ": ", what, "; `lapwing verify` shows all damage");
    return line;
  }
};

// Receives each damaged position as it is found. Returns false to stop the search.
using DamageSink = std::function<bool(const JournalDamage&)>;

}  // namespace lapwing
