#include "monitor/publisher_state.h"

namespace lapwing {

PublisherState state_of_publisher(const RingStatus& ring) {
  if (ring.state != RingState::kRunning) return PublisherState::kClosed;
  // The lock ends with the process, in whatever namespace it is and whatever its clock shows.
  if (ring.is_held == false) return PublisherState::kGone;
  if (ring.process == ProcessState::kStopped) return PublisherState::kStopped;
  if (ring.heartbeat_age_ns < kSilentNs) return PublisherState::kRunning;
  return ring.process == ProcessState::kEnded ? PublisherState::kGone : PublisherState::kSilent;
}

}  // namespace lapwing
