#include "bus/control/event_log.h"

#include <algorithm>

#include "os/kernel.h"

namespace lapwing {

void EventLog::add(EventInfoFrame event) {
  event.number = ++newest_;
  event.wall_ns = wall_ns();
  events_[class_of_event(event.kind, event.lost)].push_back(event);
  if (++size_ <= kEventsMax) return;
  std::ranges::max_element(events_, {}, &std::deque<EventInfoFrame>::size)->pop_front();
  --size_;
}

const EventInfoFrame* EventLog::next(std::uint64_t number) const {
  const EventInfoFrame* first = nullptr;
  for (const std::deque<EventInfoFrame>& events : events_) {
    const auto found = std::ranges::lower_bound(events, number, {}, &EventInfoFrame::number);
    if (found == events.end()) continue;
    if (first == nullptr || found->number < first->number) first = &*found;
  }
  return first;
}

std::size_t class_of_event(BusEventKind kind, std::uint64_t lost) {
  if (kind == BusEventKind::kDetached && lost != 0) return 0;
  const auto number = static_cast<std::size_t>(kind);
  return number >= 1 && number <= kEventKinds ? number : kEventKinds + 1;
}

}  // namespace lapwing
