// The buses of one other user, watched on a separate thread. So that user's publishers and file
// systems can delay only the readings of that user's buses.
//
// Thread safety: one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "monitor/background.h"
#include "monitor/bus_monitor.h"

namespace lapwing {

inline constexpr std::uint64_t kOtherIntervalNs = 500'000'000;  // between readings
inline constexpr std::uint64_t kOtherOldNs = 10'000'000'000;    // older readings are not shown
inline constexpr std::size_t kOtherUsersMax = 32;               // one thread each

class OtherUser {
 public:
  // Errors: kLimit, kSystem.
  static absl::StatusOr<OtherUser> start(uid_t user, BusParts parts = BusParts::kAll);

  // Sets the directories of the buses to watch from now on.
  void watch(const std::vector<std::string>& directories);
  // The newest reading, with `user` set. A bus without a reading, or with an old one, is
  // unreadable.
  std::vector<BusReading> read(std::uint64_t now_ns) const;
  // True if every bus was read and is settled (bus_monitor.h).
  bool is_settled() const;
  void request_stop() { readings_.request_stop(); }

 private:
  struct Wanted {
    std::mutex mutex;
    std::vector<std::string> directories;  // protected by the mutex
  };

  std::vector<std::string> wanted_directories() const;

  OtherUser(std::shared_ptr<Wanted> wanted, Background<std::vector<BusReading>> readings)
      : wanted_(std::move(wanted)), readings_(std::move(readings)) {}

  std::shared_ptr<Wanted> wanted_;
  Background<std::vector<BusReading>> readings_;
};

}  // namespace lapwing
