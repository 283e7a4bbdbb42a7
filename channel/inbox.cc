#include "channel/inbox.h"

namespace lapwing {

Inbox::Inbox(std::uint32_t window) : calls_(window), entries_(2 * std::size_t{window} + 1) {}

bool Inbox::add_call(CallId id, std::uint32_t type, std::span<const std::byte> payload) {
  Call& call = call_of(id);
  if (id < window() || call.state != State::kFree) return false;
  call = {State::kWaiting, id, false};
  add(id, type, payload);
  return true;
}

bool Inbox::add_one_way(std::uint32_t type, std::span<const std::byte> payload) {
  if (one_ways_ == window()) return false;
  ++one_ways_;
  add(0, type, payload);
  return true;
}

void Inbox::add(CallId id, std::uint32_t type, std::span<const std::byte> payload) {
  InboxEntry& entry = entries_[(first_ + count_) % entries_.size()];
  entry.call = id;
  entry.type = type;
  entry.payload.assign(payload.begin(), payload.end());
  ++count_;
}

void Inbox::cancel(CallId id) {
  Call& call = call_of(id);
  if (call.id == id) call.cancelled = true;
}

const InboxEntry& Inbox::take() {
  const InboxEntry& entry = entries_[first_];
  first_ = (first_ + 1) % entries_.size();
  --count_;
  if (entry.call == 0) {
    --one_ways_;
    ++one_ways_taken_;
  } else {
    call_of(entry.call).state = State::kTaken;
  }
  return entry;
}

bool Inbox::is_open(CallId id) const {
  const Call& call = call_of(id);
  return call.state == State::kTaken && call.id == id;
}

bool Inbox::is_cancelled(CallId id) const {
  return is_open(id) && call_of(id).cancelled;
}

void Inbox::answer(CallId id) {
  call_of(id).state = State::kFree;
}

}  // namespace lapwing
