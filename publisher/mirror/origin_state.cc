#include "publisher/mirror/origin_state.h"

#include <algorithm>

namespace lapwing {

void OriginState::raise_durable(Sequence durable) {
  if (durable > durable_.load()) durable_.store(durable);
}

void OriginState::note_time(Sequence last, std::uint64_t wall_ns) {
  const std::lock_guard lock(mutex_);
  if (times_.empty()) {
    times_.push_back({last, std::max(wall_ns, past_ns_)});
    return;
  }
  Time& newest = times_.back();
  if (last <= newest.last) return;
  const std::uint64_t at_ns = std::max(wall_ns, newest.wall_ns);  // the origin's clock may go back
  if (at_ns == newest.wall_ns || times_.size() >= kOriginTimesMax) {
    newest = {last, at_ns};
  } else {
    times_.push_back({last, at_ns});
  }
}

std::uint64_t OriginState::published_wall_ns(Sequence n) {
  const std::lock_guard lock(mutex_);
  while (!times_.empty() && times_.front().last < n) {
    past_ns_ = times_.front().wall_ns;
    times_.pop_front();
  }
  return times_.empty() ? past_ns_ : times_.front().wall_ns;
}

bool OriginState::is_absent(Sequence n) const {
  return std::ranges::any_of(absent_, [n](const AbsentRange& range) { return range.contains(n); });
}

}  // namespace lapwing
