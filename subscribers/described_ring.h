// The ring that bus.json speaks of, if it is this bus's: what its path says is a claim.
//
// Thread safety: free function.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bus/open_ring.h"
#include "snapshot/bus_directory.h"

namespace lapwing {

// Errors: kNotFound if there is no such file, if no ring is called so, or if it belongs to another
// directory, of which this one is a copy; those of OpenRing::open.
absl::StatusOr<OpenRing> open_described_ring(const std::string& bus_directory,
                                             const BusDescription& bus);

}  // namespace lapwing
