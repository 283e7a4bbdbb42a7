// Adds a source of any kind to a wait set, like its public add() functions. Tests use it to add
// their own sources.
//
// Thread safety: that of a call on the set.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lapwing/wait_set.h"
#include "os/wait_source.h"

namespace lapwing {

// `source`: null if its object was moved from. `what` is its name in messages. Errors: those of
// WaitSet::add().
absl::StatusOr<SourceId> add_source(WaitSet& set, SourceKind kind, WaitSource* source,
                                    std::uint64_t token, const std::string& what);

}  // namespace lapwing
