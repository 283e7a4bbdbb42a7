#include "subscribers/session_trail.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lapwing {

void SessionTrail::start(const Id128& journal_id, std::vector<SessionLeg> legs, Sequence next) {
  journal_id_ = journal_id;
  legs_ = std::move(legs);
  current_ = 0;
  is_finished_ = false;
  while (next_first() <= next) ++current_;
}

void SessionTrail::extend(std::vector<SessionLeg> legs) {
  const Id128 id = current();
  legs_ = std::move(legs);
  current_ = 0;
  is_finished_ = false;
  while (current_ + 1 < legs_.size() && legs_[current_].id != id) ++current_;
}

const Id128& SessionTrail::session_of(Sequence next) const {
  // The last leg that begins at or before `next`; the first one if none does.
  const auto after = std::ranges::upper_bound(legs_, next, {}, &SessionLeg::first);
  return after == legs_.begin() ? after->id : std::prev(after)->id;
}

bool SessionTrail::step(Sequence next) {
  if (next_first() > next) return false;
  ++current_;
  return true;
}

}  // namespace lapwing
