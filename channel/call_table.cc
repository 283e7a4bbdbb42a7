#include "channel/call_table.h"

namespace lapwing {

CallTable::CallTable(std::uint32_t window, bool keeps_late)
    : keeps_late_(keeps_late), places_(window) {
  for (std::uint32_t place = window; place > 0; --place) free_.push_back(place - 1);
}

CallId CallTable::reserve() {
  const CallId id = call_number(++serial_, window(), free_.back());
  free_.pop_back();
  return id;
}

void CallTable::start(CallId id, std::uint64_t deadline_ns, ChannelPosition request_end) {
  Place& place = place_of(id);
  place.state = State::kWaiting;
  place.id = id;
  place.deadline_ns = deadline_ns;
  place.request_end = request_end;
}

void CallTable::forget(CallId id) {
  free_place(id);
}

void CallTable::free_place(CallId id) {
  place_of(id).state = State::kFree;
  free_.push_back(call_place(id, window()));
}

CallTable::Fate CallTable::fate(CallId id) const {
  const Place& place = place_of(id);
  if (id == 0 || place.id != id) return Fate::kUnknown;
  if (place.state == State::kWaiting) return Fate::kWaiting;
  // A late reply belongs to a call that has ended.
  return place.state == State::kDone && !place.reply.is_late ? Fate::kDone : Fate::kUnknown;
}

std::uint64_t CallTable::deadline_ns(CallId id) const {
  return place_of(id).deadline_ns;
}

ChannelPosition CallTable::request_end(CallId id) const {
  return place_of(id).request_end;
}

bool CallTable::complete(CallId id, std::uint32_t type, std::uint32_t code, bool is_error,
                         std::span<const std::byte> payload) {
  Place& place = place_of(id);
  if (id == 0 || place.id != id) return false;
  const bool is_late = place.state == State::kAbandoned;
  if (is_late) {
    ++late_replies_;
    --abandoned_;
    if (!keeps_late_) {
      free_place(id);
      return true;
    }
  } else if (place.state != State::kWaiting) {
    return false;
  }
  place.state = State::kDone;
  place.reply.is_late = is_late;
  place.reply.type = type;
  place.reply.code = code;
  place.reply.is_error = is_error;
  place.reply.payload.assign(payload.begin(), payload.end());
  done_.push_back(place);
  return true;
}

const StoredReply& CallTable::take(CallId id) {
  Place& place = place_of(id);
  done_.erase(done_.iterator_to(place));
  free_place(id);
  return place.reply;
}

void CallTable::abandon(CallId id) {
  place_of(id).state = State::kAbandoned;
  ++abandoned_;
}

CallId CallTable::first_to_expire() const {
  // Checked first, because a wait set calls this on every poll, and a side that only serves has no
  // calls.
  if (free_.size() + done_.size() + abandoned_ == places_.size()) return 0;
  const Place* first = nullptr;
  for (const Place& place : places_) {
    if (place.state != State::kWaiting) continue;
    if (first == nullptr || place.deadline_ns < first->deadline_ns) first = &place;
  }
  return first == nullptr ? 0 : first->id;
}

}  // namespace lapwing
