// What systemd is told of a service (sd_notify(3)): that it is ready, what it does, that it lives,
// that it ends. Without a service manager, or without libsystemd in the build, all of it is nothing.
//
// Thread safety: the first three, any thread; ServiceWatchdog, one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace lapwing::cli {

// `status` is one line, which `systemctl status` shows.
void notify_ready(const std::string& status);
void notify_status(const std::string& status);
void notify_stopping(const std::string& status);

// Signs of life for a service manager that waits for them (WatchdogSec=). The thread that does the
// work gives them between two pieces of it, so that one that hangs gives none.
class ServiceWatchdog {
 public:
  ServiceWatchdog();
  bool is_watched() const { return interval_ns_ != kNever; }
  // Half of what the service manager waits; without one, the largest number.
  std::uint64_t interval_ns() const { return interval_ns_; }
  // Sends a sign if one is due. A clock read where there is a watchdog; free where there is none.
  void tick();

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t interval_ns_;
  std::uint64_t due_ns_ = 0;
};

}  // namespace lapwing::cli
