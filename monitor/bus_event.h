// What has happened on a bus, as its publisher remembers it.
//
// Thread safety: values and free functions.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/control/client.h"
#include "proto/control_frames.h"

namespace lapwing {

struct BusEvent {
  std::uint64_t number = 0;  // 1 is the first of the publisher's session
  std::uint64_t wall_ns = 0;
  BusEventKind kind = BusEventKind::kAttached;  // any number: it is what a peer sent
  DropReason reason{};                          // likewise; 0: none
  int sys_errno = 0;
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
  std::string name;  // of the client
  Sequence position = 0;
  std::uint64_t records = 0;
  std::uint64_t gaps = 0;
  std::uint64_t lost = 0;
  std::uint64_t filled = 0;
  std::uint64_t count = 0;  // of stalls
  std::string text;
};

struct BusEvents {
  std::vector<BusEvent> events;  // by number
  std::uint64_t newest = 0;      // number of the newest one that there was
};

BusEvents events_of(const ControlClient::EventList& list);

// Asks the publisher for the events with a number above `after`.
// Errors: those of ControlClient::connect; kUnsupported: it is of a release before events.
absl::StatusOr<BusEvents> ask_events(const std::string& directory, std::uint64_t after = 0);

// Adds the newest one. kEventsMax are kept at most, by the rule of EventLog: a flood of one class does
// not push the others out.
void keep_event(std::deque<BusEvent>& events, BusEvent event);

// Whether a person should know of it: records are lost, or soon will be.
bool is_bad(const BusEvent& event);
// One sentence without its time: "es-logger (pid 12, user 1000) lost 5 records in 1 gap". May hold
// what a peer wrote; is printable.
std::string sentence_of(const BusEvent& event);

}  // namespace lapwing
