// Says on this machine that a bus is published, so that monitors find it (snapshot/bus_announcement.h).
//
// Nothing depends on it: where it cannot be said the publisher logs why, and goes on.
//
// Thread safety: one thread. The bus is locked by the caller.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "publisher/publisher_set_up.h"
#include "snapshot/bus_directory.h"

namespace lapwing {

// Puts the announcement into `folder`, the user's directory under /dev/shm
// (bus/ring_directory.h), removes those of buses whose directories are gone, and returns the file.
// Errors: those of replace_file; kInvalidArgument (a path that is not UTF-8).
absl::StatusOr<std::string> announce_on_machine(const PublisherSetUp& options,
                                                const BusDescription& bus,
                                                const std::string& folder);
// Removes the file that announce_on_machine returned. One that is not there is no error.
absl::Status withdraw_from_machine(const std::string& announcement);

}  // namespace lapwing
