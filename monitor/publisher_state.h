// What a bus's publisher is doing. Four sources are compared, since each may be wrong or missing: the
// lock of the ring, the heartbeat, the ring's state and the kernel's report of the process.
//
// Thread safety: free functions.
#pragma once

#include <cstdint>

#include "lapwing/detail/enum_names.h"
#include "monitor/bus_status.h"

namespace lapwing {

enum class PublisherState {
  kRunning = 1,
  kStopped = 2,  // its process is stopped, by a signal or a debugger
  kSilent = 3,   // its process is there and has not renewed the heartbeat for kSilentNs
  kGone = 4,     // its process has ended without closing the bus
  kClosed = 5,   // it closed the bus, or is just doing so
};

// Stable identifiers.
constexpr const char* name_of(PublisherState state) {
  constexpr detail::EnumName<PublisherState> kNames[] = {{PublisherState::kRunning, "running"},
                                                         {PublisherState::kStopped, "stopped"},
                                                         {PublisherState::kSilent, "silent"},
                                                         {PublisherState::kGone, "gone"},
                                                         {PublisherState::kClosed, "closed"}};
  return detail::name_in(kNames, state);
}

PublisherState state_of_publisher(const RingStatus& ring);

}  // namespace lapwing
