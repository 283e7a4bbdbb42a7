// Watches the buses on a machine, or only the named ones.
//
// The calling thread reads the buses of this user and of root. For each other user, a thread reads
// that user's buses (other_user.h), and the search has its own thread. So another user cannot delay
// a reading of trusted buses.
//
// Thread safety: one thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "monitor/background.h"
#include "monitor/bus_labels.h"
#include "monitor/bus_monitor.h"
#include "monitor/find_buses.h"
#include "monitor/other_user.h"
#include "monitor/watched_users.h"

namespace lapwing {

inline constexpr std::uint64_t kSearchNs = 2'000'000'000;  // between searches for buses

struct MachineOptions {
  std::vector<std::string> directories;  // of buses; empty: all announced buses of `users`
  WatchedUsers users;
  BusParts parts = BusParts::kAll;
};

struct MachineReading {
  std::string host = {};      // the machine's name
  std::uint64_t wall_ns = 0;  // UTC
  // In the order in which they were named; if none were named, trusted users' buses by directory,
  // then the others.
  std::vector<BusReading> buses;
  LeftOut left_out = {};  // zeros if buses were named
};

class MachineMonitor {
 public:
  // Waits for the first search, at most 1 s. Errors: kLimit, kSystem.
  static absl::StatusOr<MachineMonitor> start(MachineOptions options);
  MachineMonitor(MachineMonitor&&) = default;
  MachineMonitor& operator=(MachineMonitor&&) = delete;
  // Waits for the other users' threads, for at most kBackgroundEndNs in total.
  ~MachineMonitor();

  void sample(std::uint64_t now_ns);
  MachineReading read(std::uint64_t now_ns, std::uint64_t wall_ns);
  // True if the search has ended and every bus was read and is settled (bus_monitor.h). For a
  // command that needs one reading.
  bool is_settled();

 private:
  using Search = Background<FoundBuses>;

  MachineMonitor(MachineOptions options, std::optional<Search> search);

  using Owners = std::map<std::string, uid_t>;  // of directories
  using Announcements = std::map<std::string, BusAnnouncement>;

  void take_search(std::uint64_t now_ns);
  void look_up_named(std::uint64_t now_ns);
  void follow(const Owners& owners);
  void finish(BusReading& reading, const Owners::value_type& bus);

  MachineOptions options_;
  std::optional<Search> search_;  // nullopt: buses were named
  std::uint64_t searched_ns_ = 0;
  Owners owners_;
  Announcements announcements_;
  std::map<std::string, BusMonitor> trusted_;
  std::map<uid_t, OtherUser> others_;
  std::map<uid_t, std::string> trusted_names_;
  BusLabels labels_;
  MachineReading found_;  // only host and left_out
};

}  // namespace lapwing
