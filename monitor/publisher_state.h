// What a bus's publisher is doing, by its ring and by the kernel's word on its process.
//
// Thread safety: free functions.
#pragma once

#include <cstdint>

#include "monitor/bus_status.h"

namespace lapwing {

// A publisher renews its heartbeat twice a second.
inline constexpr std::uint64_t kSilentNs = 3'000'000'000;

enum class PublisherState {
  kRunning = 1,
  kStopped = 2,  // its process is stopped, by a signal or a debugger
  kSilent = 3,   // its process is there and has not renewed the heartbeat for kSilentNs
  kGone = 4,     // its process has ended without closing the bus
  kClosed = 5,   // it closed the bus, or is just doing so
};

// Of a publisher in another process namespace the kernel says nothing: silent, or running.
PublisherState state_of_publisher(const RingStatus& ring);

// Stable identifiers.
const char* name_of(PublisherState state);

}  // namespace lapwing
