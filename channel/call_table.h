// The calls of this side of a duplex that have not ended.
//
// Thread safety: one thread. Owns the replies that have arrived but have not been taken.
//
// Invariants
//  1. There is one place for each unanswered call that the other side accepts. A place is free or
//     holds one call. An expired or cancelled call keeps its place until its reply has arrived,
//     because the other side still counts it; with `keeps_late`, until that reply has been taken.
//  2. Each call ends exactly once: with its reply, its deadline, a cancellation, or the channel. A
//     late reply does not end it again.
//  3. A call that is reserved but not started has no reply yet, regardless of what arrives.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lapwing/detail/channel_layout.h"
#include "lapwing/duplex.h"

namespace lapwing {

// A reply that has arrived.
struct StoredReply {
  std::uint32_t type = 0;
  std::uint32_t code = 0;
  bool is_error = false;
  bool is_late = false;
  std::vector<std::byte> payload;
};

class CallTable {
 public:
  // `window`: how many unanswered calls the other side accepts. `keeps_late`: late replies are kept
  // until they are taken, instead of being dropped.
  CallTable(std::uint32_t window, bool keeps_late);

  bool has_free_place() const { return !free_.empty(); }
  // True if every place holds an untaken reply, so that waiting cannot free one.
  bool only_untaken() const { return done_.size() == places_.size(); }
  // Reserves a place for a call that is about to be sent. There must be a free place.
  CallId reserve();
  // The call was sent and is waiting for its reply. `request_end`: the end of its frame.
  void start(CallId id, std::uint64_t deadline_ns, ChannelPosition request_end);
  // The call could not be sent.
  void forget(CallId id);

  enum class Fate { kWaiting, kDone, kUnknown };
  Fate fate(CallId id) const;
  std::uint64_t deadline_ns(CallId id) const;
  ChannelPosition request_end(CallId id) const;

  // Stores the reply to a call. False if no such call is waiting for one, which is a server
  // error.
  bool complete(CallId id, std::uint32_t type, std::uint32_t code, bool is_error,
                std::span<const std::byte> payload);
  // Returns the reply of a call that is done, and frees its place. The reply is valid until the
  // next start().
  const StoredReply& take(CallId id);
  // The caller no longer waits. The place is freed when the reply has arrived and was dropped or
  // taken.
  void abandon(CallId id);

  // The untaken call that was done first; 0 if there is none.
  CallId first_done() const { return done_.empty() ? 0 : done_.front().id; }
  // The waiting call with the earliest deadline; 0 if none is waiting.
  CallId first_to_expire() const;

  std::uint64_t late_replies() const { return late_replies_; }
  // True if a late reply is still expected, and will be kept.
  bool awaits_late() const { return keeps_late_ && abandoned_ > 0; }

 private:
  enum class State { kFree, kWaiting, kAbandoned, kDone };
  struct Place : boost::intrusive::list_base_hook<> {
    State state = State::kFree;
    CallId id = 0;
    std::uint64_t deadline_ns = 0;
    ChannelPosition request_end = 0;
    StoredReply reply;
  };

  Place& place_of(CallId id) { return places_[call_place(id, window())]; }
  const Place& place_of(CallId id) const { return places_[call_place(id, window())]; }
  std::uint32_t window() const { return static_cast<std::uint32_t>(places_.size()); }
  void free_place(CallId id);

  const bool keeps_late_;
  std::uint32_t abandoned_ = 0;  // places whose reply is still expected
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;     // places; the last used on top, because its memory is warm
  boost::intrusive::list<Place> done_;  // of places_, the oldest first
  std::uint64_t serial_ = 0;
  std::uint64_t late_replies_ = 0;
};

}  // namespace lapwing
