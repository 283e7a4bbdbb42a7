#include "bus/control/event_log.h"

#include <algorithm>

#include "os/kernel.h"

namespace lapwing {

void EventLog::add(EventInfoFrame event) {
  event.number = ++newest_;
  event.wall_ns = wall_ns();
  events_[class_of(event)].push_back(event);
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

std::size_t EventLog::class_of(const EventInfoFrame& event) {
  const bool is_gone_with_losses = event.kind == EventKind::kDetached && event.lost != 0;
  return is_gone_with_losses ? kEventKinds : static_cast<std::size_t>(event.kind) - 1;
}

}  // namespace lapwing
