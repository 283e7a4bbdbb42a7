// Notifications to systemd (sd_notify(3)): ready, status, watchdog and stopping. They do nothing
// without a service manager, or in a build without libsystemd.
//
// Thread safety: the first three from any thread; ServiceWatchdog from one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace lapwing::cli {

// `status` is one line, shown by `systemctl status`.
void notify_ready(const std::string& status);
void notify_status(const std::string& status);
void notify_stopping(const std::string& status);

// Watchdog notifications for a service manager that expects them (WatchdogSec=). The thread that
// does the work sends them between units of work, so if it hangs, none are sent.
class ServiceWatchdog {
 public:
  ServiceWatchdog();
  bool is_watched() const { return interval_ns_ != kNever; }
  // Half of the watchdog timeout; the largest number if there is no watchdog.
  std::uint64_t interval_ns() const { return interval_ns_; }
  // Sends a notification if one is due. Reads the clock only if there is a watchdog.
  void tick();

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t interval_ns_;
  std::uint64_t due_ns_ = 0;
};

}  // namespace lapwing::cli
