// A bus's events, which its publisher keeps.
//
// Thread safety: free functions.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/statusor.h"
#include "bus/control/client.h"
#include "proto/control_frames.h"

namespace lapwing {

// Requests the events numbered above `after` from the publisher. Errors: those of
// ControlClient::connect; kUnsupported: the publisher's release has no events.
absl::StatusOr<ControlClient::EventList> ask_events(const std::string& directory,
                                                    std::uint64_t after = 0);

// Adds the newest event. At most kEventsMax are kept, by EventLog's rule: a flood of one class does
// not push out the others.
void keep_event(std::deque<EventInfoFrame>& events, const EventInfoFrame& event);

// True if operators should see it: records are lost, or soon will be.
bool is_bad(const EventInfoFrame& event);
// Returns one sentence without the time: "es-logger (pid 12, user 1000) lost 5 records in 1 gap".
// It may contain text from a peer, and is printable.
std::string sentence_of(const EventInfoFrame& event);

}  // namespace lapwing
