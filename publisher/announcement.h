// Announces a published bus on this machine, so that monitors can find it
// (snapshot/bus_announcement.h).
//
// The announcement is optional. If it fails, the publisher logs the error and continues.
//
// Thread safety: one thread. The caller holds the bus's lock.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "publisher/publisher_set_up.h"
#include "snapshot/bus_directory.h"

namespace lapwing {

// Writes the announcement into `folder`, the user's directory under /dev/shm
// (bus/ring_directory.h), and returns the path of the file. Removes the announcements of buses
// whose directories no longer exist. Errors: those of replace_file; kInvalidArgument (a path that
// is not UTF-8).
absl::StatusOr<std::string> announce_on_machine(const PublisherSetUp& options,
                                                const BusDescription& bus,
                                                const std::string& folder);
// Removes the file that announce_on_machine returned. A missing file is not an error.
absl::Status withdraw_from_machine(const std::string& announcement);

}  // namespace lapwing
