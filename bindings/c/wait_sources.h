// How handles are added to a wait set: each file that defines one adds it.
//
// Thread safety: as lapwing.h says.
#pragma once

#include <cstdint>

#include "lapwing.h"
#include "lapwing/wait_set.h"

namespace lapwing::c {

lapwing_result add_to(WaitSet& set, lapwing_subscriber* subscriber, std::uint64_t token,
                      std::uint64_t* source, lapwing_error* error);
lapwing_result add_to(WaitSet& set, lapwing_listener* listener, std::uint64_t token,
                      std::uint64_t* source, lapwing_error* error);

// The answer of an add.
lapwing_result put_source(const absl::StatusOr<SourceId>& added, std::uint64_t* source,
                          lapwing_error* error);

}  // namespace lapwing::c
