// The result of a read call as one value for comparisons: a record, an entry of a state, an
// event of some kind, the end, or nothing.
//
//   CHECK(came(subscriber.next(Deadline::now())) == EventKind::kCaughtUp);
//   CHECK(came(batch) == Came::kNothing);
#pragma once

#include <cstdint>
#include <ostream>

#include "lapwing/subscriber.h"
#include "os/deadline.h"

namespace lapwing {

class Came {
 public:
  static const Came kNothing;  // ended by the deadline, an interrupt or misuse
  static const Came kEnd;

  constexpr Came(ItemKind item) : item_(item) {}
  constexpr Came(EventKind event) : item_(ItemKind::kEvent), event_(event) {}

  bool is_event() const { return item_ == ItemKind::kEvent; }
  friend bool operator==(const Came&, const Came&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Came& came) {
    if (came == kNothing) return out << "nothing";
    if (came == kEnd) return out << "the end";
    if (came.is_event()) return out << name_of(came.event_);
    return out << (came.item_ == ItemKind::kRecord ? "a record" : "an entry of a state");
  }

 private:
  constexpr explicit Came(std::uint32_t none) : item_{none} {}

  ItemKind item_;
  EventKind event_ = {};
};
inline constexpr Came Came::kNothing{std::uint32_t{0}};
inline constexpr Came Came::kEnd{~std::uint32_t{0}};

inline Came came(const Item& item) {
  return item.event != nullptr ? Came(item.event->kind) : Came(item.kind);
}
inline Came came(const Event& event) {
  return event.kind;
}
inline Came came(const Batch& batch) {
  return batch.event != nullptr ? Came(batch.event->kind) : Came(batch.kind);
}
inline Came came(Errc error) {
  const bool is_nothing = came_to_nothing(error) || error == Errc::kInterrupted ||
                          error == Errc::kMisuse || error == Errc::kTooSmall;
  return is_nothing ? Came::kNothing : Came::kEnd;
}
template <typename Value>
Came came(const Result<Value>& result) {
  return result.ok() ? came(*result) : came(result.error());
}

}  // namespace lapwing
