#include "cli/service_manager.h"

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "os/printable.h"

#if LAPWING_HAS_LIBSYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace lapwing::cli {
namespace {

constexpr std::uint64_t kNsPerUs = 1'000;

#if LAPWING_HAS_LIBSYSTEMD

// Ignores errors: the service manager may have ended.
void notify(const std::string& state) {
  sd_notify(0, state.c_str());
}

// Returns 0 if there is no watchdog.
std::uint64_t watchdog_us() {
  std::uint64_t interval_us = 0;
  return sd_watchdog_enabled(0, &interval_us) > 0 ? interval_us : 0;
}

#else

void notify(const std::string&) {}
std::uint64_t watchdog_us() {
  return 0;
}

#endif

// Escapes line breaks in paths, because a line break would start a new assignment.
std::string status_line(const std::string& status) {
  return absl::StrCat("STATUS=", printable(status));
}

}  // namespace

void notify_ready(const std::string& status) {
  notify(absl::StrCat("READY=1\n", status_line(status)));
}

void notify_status(const std::string& status) {
  notify(status_line(status));
}

void notify_stopping(const std::string& status) {
  notify(absl::StrCat("STOPPING=1\n", status_line(status)));
}

ServiceWatchdog::ServiceWatchdog()
    : interval_ns_([] {
        const std::uint64_t interval_us = watchdog_us();
        return interval_us > 0 ? interval_us * kNsPerUs / 2 : kNever;
      }()) {}

void ServiceWatchdog::tick() {
  if (!is_watched()) return;
  const std::uint64_t now = monotonic_ns();
  if (now < due_ns_) return;
  due_ns_ = now + interval_ns_;
  notify("WATCHDOG=1");
}

}  // namespace lapwing::cli
