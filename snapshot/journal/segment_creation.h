// Creates one segment synchronously: what recovery needs where a killed publisher had not prepared
// one.
//
// Thread safety: one thread; the caller holds the publisher's lock.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

// Creates .sum, .idx and .jnl of a segment that has no .jnl yet, under unfinished names; syncs
// them; gives .sum and .idx their names, then .jnl its own, and syncs the directory after each. So
// whatever has a name .jnl is whole and has its companions. Errors: kNoSpace, kNotPermitted,
// kSystem.
absl::Status create_segment(const JournalFiles& files, std::uint64_t segment,
                            const std::string& schema, std::uint64_t wall_ns);

}  // namespace lapwing
