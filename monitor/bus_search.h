// Finds the buses of this machine by what their publishers announce (snapshot/bus_announcement.h).
//
// Nothing that is found is trusted: a directory counts if it is called lapwing-UID or lapwing-UID-GID,
// also with something behind a dot, belongs to that user, is not a link and nobody else may write to
// it; a file in it, if it is a plain one of that user, of kAnnouncementBytesMax at most, that nobody
// else may write to. What one user puts there hides no other user's buses.
//
// Thread safety: a free function.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "snapshot/bus_announcement.h"

namespace lapwing {

inline constexpr std::size_t kBusesOfUserMax = 1024;  // files of one user that are looked at

struct FoundBus {
  BusAnnouncement announcement;
  uid_t owner = 0;
};

struct FoundBuses {
  std::vector<FoundBus> buses;    // by directory, ascending
  std::size_t not_trusted = 0;    // files and directories that are not as above, or damaged
  std::size_t not_permitted = 0;  // directories of other users, which this one may not read
  std::size_t beyond_limit = 0;   // files that were not looked at
};

FoundBuses find_buses(const std::string& shared_memory = "/dev/shm");

}  // namespace lapwing
