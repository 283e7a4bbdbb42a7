// What has happened on a bus: the last 256 events of the publisher's session, for who asks later.
//
// Where there is no room, the oldest event of the class that has most gives way. So a flood of one
// class, such as clients that come and go, leaves of each other class what it had, up to its share.
// A subscriber that is gone with losses is of another class than one without.
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

// Below kEventClasses, also of a kind that this release does not know.
std::size_t class_of_event(BusEventKind kind, std::uint64_t lost);

class EventLog {
 public:
  // Numbers the event and gives it its time.
  void add(EventInfoFrame event);

  // The first event with a number of at least `number`; null: there is none.
  const EventInfoFrame* next(std::uint64_t number) const;
  std::uint64_t newest() const { return newest_; }  // 0: nothing has happened

 private:
  std::array<std::deque<EventInfoFrame>, kEventClasses> events_;  // each by number
  std::size_t size_ = 0;
  std::uint64_t newest_ = 0;
};

}  // namespace lapwing
