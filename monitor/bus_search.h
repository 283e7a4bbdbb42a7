// Finds the buses of this machine by what their publishers announce (snapshot/bus_announcement.h).
//
// Nothing that is found is trusted. A directory is used if it is called lapwing-UID or
// lapwing-UID-GID, with or without a suffix behind a dot, belongs to that user, is not a link, and
// only that user may write to it. A file in it is read if it is a plain file of that user, only
// that user may write to it, and it has at most kAnnouncementBytesMax. The limit on files is for
// each user, so no user can hide the buses of others.
//
// Thread safety: a free function.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "snapshot/bus_announcement.h"

namespace lapwing {

inline constexpr std::size_t kBusesOfUserMax = 1024;  // files of one user that are read

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
