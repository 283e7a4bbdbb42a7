// Finds the buses on this machine by their publishers' announcements
// (snapshot/bus_announcement.h).
//
// Nothing that a search finds is trusted. A directory is used if it is named lapwing-UID or
// lapwing-UID-GID, with or without a suffix after a dot. It must belong to that user, must not be a
// link or a mount, and only that user may write to it. A file in it is read if it is a regular file
// owned by that user, only that user may write to it, and it has at most kAnnouncementBytesMax.
// Buses of users that are not watched are not read.
//
// Another user can create millions of names. So a search first looks up the names lapwing-UID
// and lapwing-UID-GID for this user, root and the named users, with this process's groups.
// Then it visits a limited number of names. Each user has separate limits on files and
// directories. If a limit is exceeded, the smallest names are used. So no user can hide other
// users' buses in these directories.
//
// Thread safety: a free function.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "bus/ring_directory.h"
#include "monitor/watched_users.h"
#include "snapshot/bus_announcement.h"

namespace lapwing {

inline constexpr std::size_t kBusesOfUserMax = 1024;  // files to read from root and this user
inline constexpr std::size_t kBusesOfOtherMax = 256;  // … and of each other user
inline constexpr std::size_t kDirectoriesOfUserMax = 1024;
inline constexpr std::size_t kDirectoriesOfOtherMax = 64;
inline constexpr std::size_t kNamesOfUserMax = 65'536;  // in a user's directories
inline constexpr std::size_t kNotWatchedMax = 1024;     // maximum number of users counted

struct FoundBus {
  BusAnnouncement announcement;
  uid_t owner = 0;
};

// Files and directories that a search did not examine, or ignored.
struct LeftOut {
  std::size_t not_trusted = 0;    // not as described above, or damaged
  std::size_t not_permitted = 0;  // other users' directories that this user cannot read
  // Files and directories that were not examined. A directory whose names were not all visited,
  // including the shared memory itself, counts as one: the search is incomplete.
  std::size_t beyond_limit = 0;
  std::size_t not_watched = 0;  // unwatched users with such directories
};

struct FoundBuses {
  std::vector<FoundBus> buses;  // by directory, ascending
  LeftOut left_out;
};

// The bus directory of a watched user other than root and this one is not checked, because it may
// be on a file system that does not answer. `names_max` is the maximum number of names in
// `shared_memory` to visit.
FoundBuses find_buses(const WatchedUsers& users, const std::string& shared_memory = "/dev/shm",
                      std::size_t names_max = kNamesVisitedMax);

}  // namespace lapwing
