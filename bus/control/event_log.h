// The last 256 events of the publisher's session, for clients that request them later.
//
// If the log is full, the oldest event of the class with the most events is evicted. So a flood of
// one class, such as clients that connect and disconnect, does not evict the events of other
// classes within their share. The end of a subscriber with losses is in a different class from the
// end of one without.
//
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "proto/control_frames.h"

namespace lapwing {

inline constexpr std::size_t kEventsMax = 256;
inline constexpr std::size_t kEventClasses = kEventKinds + 2;

// Returns a number below kEventClasses, even for an unknown kind.
std::size_t class_of_event(BusEventKind kind, std::uint64_t lost);

class EventLog {
 public:
  // Adds the event and sets its number and time.
  void add(EventInfoFrame event);

  // Returns the first event with a number of at least `number`, or null if there is none.
  const EventInfoFrame* next(std::uint64_t number) const;
  std::uint64_t newest() const { return newest_; }  // 0: no event yet

 private:
  std::array<std::deque<EventInfoFrame>, kEventClasses> events_;  // each by number
  std::size_t size_ = 0;
  std::uint64_t newest_ = 0;
};

}  // namespace lapwing
