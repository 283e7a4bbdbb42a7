// The state of a whole .idx file, and making it anew from what is right in it.
//
// Thread safety: no state; whoever rewrites holds the publisher's lock.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

struct IndexState {
  bool missing = false;       // a publisher does not go on in a segment without one
  std::uint64_t entries = 0;  // that check
  std::uint64_t invalid = 0;  // that do not, but for the last: it may be on its way

  bool is_right() const { return !missing && invalid == 0; }
};

absl::StatusOr<IndexState> inspect_index(const JournalFiles& files, std::uint64_t segment);

// Replaces the index by one of the entries that check; temporary name, sync, rename, sync
// directory.
absl::Status rewrite_index(const JournalFiles& files, std::uint64_t segment);

}  // namespace lapwing
