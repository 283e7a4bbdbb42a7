#include "relay/in/held_messages.h"

#include <algorithm>
#include <iterator>

namespace lapwing {

HeldMessages::Held::iterator HeldMessages::erase(Held::iterator held) {
  bytes_ -= size_of(held->second);
  return held_.erase(held);
}

void HeldMessages::hold(std::uint64_t session_row, HeldMessage message) {
  const Key key{session_row, message.header.first};
  const auto same = held_.find(key);
  if (same != held_.end()) {
    if (same->second.last() >= message.last()) return;
    erase(same);
  }
  bytes_ += size_of(message);
  held_.emplace(key, std::move(message));
  while (bytes_ > bytes_max_ && !held_.empty()) {
    ++dropped_;
    erase(std::prev(held_.end()));
  }
}

const HeldMessage* HeldMessages::find(std::uint64_t session_row, Sequence sequence) const {
  auto held = held_.upper_bound({session_row, sequence});
  // Messages may overlap, and a long one may begin before a short one.
  for (std::size_t i = 0; i < 4 && held != held_.begin(); ++i) {
    --held;
    if (held->first.first != session_row) return nullptr;
    if (held->second.last() >= sequence) return &held->second;
  }
  return nullptr;
}

void HeldMessages::drop_before(std::uint64_t session_row, Sequence sequence) {
  for (auto held = held_.begin(); held != held_.end() && held->first.first <= session_row;) {
    const bool is_earlier = held->first.first < session_row;
    if (!is_earlier && held->first.second >= sequence) return;
    held = is_earlier || held->second.last() < sequence ? erase(held) : std::next(held);
  }
}

void HeldMessages::drop_session(std::uint64_t session_row) {
  auto held = held_.lower_bound({session_row, 0});
  while (held != held_.end() && held->first.first == session_row) held = erase(held);
}

void HeldMessages::clear() {
  held_.clear();
  bytes_ = 0;
}

std::vector<RelayRange> HeldMessages::gaps(std::uint64_t session_row,
                                           const RelayRange& range) const {
  std::vector<RelayRange> gaps;
  Sequence next = range.first;
  for (auto held = held_.lower_bound({session_row, 0});
       held != held_.end() && held->first.first == session_row && next <= range.last; ++held) {
    const Sequence first = held->first.second;
    if (first > range.last) break;
    if (first > next) gaps.push_back({next, first - 1});
    next = std::max(next, held->second.last() + 1);
  }
  if (next <= range.last) gaps.push_back({next, range.last});
  return gaps;
}

}  // namespace lapwing
