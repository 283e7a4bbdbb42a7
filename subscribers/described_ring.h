// Opens the ring that bus.json names, if it belongs to this bus. The path in bus.json is not
// trusted.
//
// Thread safety: free function.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bus/open_ring.h"
#include "snapshot/bus_directory.h"

namespace lapwing {

// Errors: kNotFound, those of OpenRing::open. kNotFound: the file does not exist, its name is not a
// ring name, or the ring belongs to another directory, of which this one is a copy.
absl::StatusOr<OpenRing> open_described_ring(const std::string& bus_directory,
                                             const BusDescription& bus);

}  // namespace lapwing
