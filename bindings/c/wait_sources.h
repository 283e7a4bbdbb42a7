// Adds handles to a wait set. Each function is in the file that defines the handle.
//
// Thread safety: see lapwing.h.
#pragma once

#include <cstdint>

#include "lapwing.h"
#include "lapwing/wait_set.h"

namespace lapwing::c {

lapwing_result add_to(WaitSet& set, lapwing_subscriber* subscriber, std::uint64_t token,
                      std::uint64_t* source, lapwing_error* error);
lapwing_result add_to(WaitSet& set, lapwing_listener* listener, std::uint64_t token,
                      std::uint64_t* source, lapwing_error* error);

// Returns the result of an add function.
lapwing_result put_source(const absl::StatusOr<SourceId>& added, std::uint64_t* source,
                          lapwing_error* error);

}  // namespace lapwing::c
