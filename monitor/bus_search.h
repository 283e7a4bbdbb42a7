// Finds the buses of this machine by what their publishers announce (snapshot/bus_announcement.h).
//
// Nothing that is found is trusted. A directory is used if it is called lapwing-UID or
// lapwing-UID-GID, with or without a suffix behind a dot, belongs to that user, is not a link, and
// only that user may write to it. A file in it is read if it is a plain file of that user, only
// that user may write to it, and it has at most kAnnouncementBytesMax. Limits on files
// and directories are for each user, so no user can hide the buses of others. Buses of users that
// are not watched are not read.
//
// Thread safety: a free function.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "monitor/watched_users.h"
#include "snapshot/bus_announcement.h"

namespace lapwing {

inline constexpr std::size_t kBusesOfUserMax = 1024;  // files that are read of root and this user
inline constexpr std::size_t kBusesOfOtherMax = 256;  // … and of each other user
inline constexpr std::size_t kDirectoriesOfOtherMax = 64;

struct FoundBus {
  BusAnnouncement announcement;
  uid_t owner = 0;
};

struct FoundBuses {
  std::vector<FoundBus> buses;    // by directory, ascending
  std::size_t not_trusted = 0;    // files and directories that are not as above, or damaged
  std::size_t not_permitted = 0;  // directories of other users, which this one may not read
  std::size_t beyond_limit = 0;   // files and directories that were not looked at
  std::size_t not_watched = 0;    // users that have such directories and are not watched
};

// A bus of a watched user other than root and this one is not looked up at its directory: that may
// be on a file system that does not answer.
FoundBuses find_buses(const WatchedUsers& users, const std::string& shared_memory = "/dev/shm");

}  // namespace lapwing
