#include "monitor/publisher_state.h"

#include "monitor/process_state.h"

namespace lapwing {

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
