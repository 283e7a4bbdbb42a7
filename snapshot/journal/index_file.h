// Checks a whole .idx file, and rewrites it from its valid entries.
//
// Thread safety: no state; the caller of rewrite_index() holds the publisher's lock.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

struct IndexState {
  bool missing = false;       // a publisher does not continue a segment without an index
  std::uint64_t entries = 0;  // valid ones
  std::uint64_t invalid = 0;  // without the last one, which may be half written

  bool is_right() const { return !missing && invalid == 0; }
};

absl::StatusOr<IndexState> inspect_index(const JournalFiles& files, std::uint64_t segment);

// Replaces the index with one that contains only its valid entries: temporary name, sync, rename,
// directory sync.
absl::Status rewrite_index(const JournalFiles& files, std::uint64_t segment);

}  // namespace lapwing
