// Events of a bus, which its publisher keeps.
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

// Asks the publisher for the events with a number above `after`.
// Errors: those of ControlClient::connect; kUnsupported: it is of a release before events.
absl::StatusOr<ControlClient::EventList> ask_events(const std::string& directory,
                                                    std::uint64_t after = 0);

// Adds the newest one. kEventsMax are kept at most, by the rule of EventLog: a flood of one class does
// not push the others out.
void keep_event(std::deque<EventInfoFrame>& events, const EventInfoFrame& event);

// Whether a person should know of it: records are lost, or soon will be.
bool is_bad(const EventInfoFrame& event);
// One sentence without its time: "es-logger (pid 12, user 1000) lost 5 records in 1 gap". May hold
// what a peer wrote; is printable.
std::string sentence_of(const EventInfoFrame& event);

}  // namespace lapwing
