#include "monitor/publisher_state.h"

#include <signal.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace lapwing {
namespace {

// The letter behind the name in /proc/PID/stat; 0: there is no such process, or it is not said. The
// name may have anything in it, also brackets.
char state_letter(std::uint32_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text.size() ? '\0' : text[name_end + 2];
}

bool has_ended(std::uint32_t pid) {
  const char letter = state_letter(pid);
  if (letter == 'Z' || letter == 'X') return true;
  return letter == '\0' && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

bool is_stopped(std::uint32_t pid) {
  const char letter = state_letter(pid);
  return letter == 'T' || letter == 't';
}

}  // namespace

PublisherState state_of_publisher(const RingStatus& ring) {
  if (ring.state != RingState::kRunning) return PublisherState::kClosed;
  const bool is_silent = ring.heartbeat_age_ns >= kSilentNs;
  // Its number may be another process's in another namespace: while the heart beats it lives.
  if (!is_silent)
    return is_stopped(ring.publisher_pid) ? PublisherState::kStopped : PublisherState::kRunning;
  if (has_ended(ring.publisher_pid)) return PublisherState::kGone;
  return is_stopped(ring.publisher_pid) ? PublisherState::kStopped : PublisherState::kSilent;
}

const char* name_of(PublisherState state) {
  switch (state) {
    case PublisherState::kRunning:
      return "running";
    case PublisherState::kStopped:
      return "stopped";
    case PublisherState::kSilent:
      return "silent";
    case PublisherState::kGone:
      return "gone";
    case PublisherState::kClosed:
      return "closed";
  }
  return "unknown";
}

}  // namespace lapwing
