// The calls that this side of a duplex has made and that have not come to their end.
//
// Thread safety: one thread. Owns the replies that have come and were not taken.
//
// Invariants
//  1. There is one place for each call that the other side takes unanswered; a place is free, or
//     holds one call. An expired or cancelled call keeps its place until its reply has come, since
//     the other side still counts it; with `keeps_late`, until that reply was taken.
//  2. Each call ends exactly once: with its reply, its deadline, a cancellation, or the channel. A
//     late reply is no end of it.
//  3. A call that is reserved and not started has no reply yet, whatever the other side sends.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lapwing/detail/channel_layout.h"
#include "lapwing/duplex.h"

namespace lapwing {

// A reply that has come.
struct StoredReply {
  std::uint32_t type = 0;
  std::uint32_t code = 0;
  bool is_error = false;
  bool is_late = false;
  std::vector<std::byte> payload;
};

class CallTable {
 public:
  // `window`: how many calls the other side takes unanswered. `keeps_late`: late replies are kept
  // to be taken, and not dropped.
  CallTable(std::uint32_t window, bool keeps_late);

  bool has_free_place() const { return !free_.empty(); }
  // True: every place holds a reply that was not taken, so waiting frees none.
  bool only_untaken() const { return done_.size() == places_.size(); }
  // A call that is about to be sent; there is a free place.
  CallId reserve();
  // It was sent, and waits for its reply. `request_end`: of its frame.
  void start(CallId id, std::uint64_t deadline_ns, ChannelPosition request_end);
  // It could not be sent.
  void forget(CallId id);

  enum class Fate { kWaiting, kDone, kUnknown };
  Fate fate(CallId id) const;
  std::uint64_t deadline_ns(CallId id) const;
  ChannelPosition request_end(CallId id) const;

  // The reply to a call has come. False: no such call waits for one, which no correct server does.
  bool complete(CallId id, std::uint32_t type, std::uint32_t code, bool is_error,
                std::span<const std::byte> payload);
  // The reply of a call that is done; its place is free from now on, and the reply valid until the
  // next start().
  const StoredReply& take(CallId id);
  // The caller no longer waits. The place is freed when the reply comes and is dropped, or was
  // taken.
  void abandon(CallId id);

  // The call that was done first and was not taken; 0: none.
  CallId first_done() const { return done_.empty() ? 0 : done_.front().id; }
  // The waiting call whose deadline is the earliest; 0: none waits.
  CallId first_to_expire() const;

  std::uint64_t late_replies() const { return late_replies_; }
  // A late reply is still to come, and will be kept.
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
  std::uint32_t abandoned_ = 0;  // places whose reply is still to come
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;     // places, the last used on top: its memory is warm
  boost::intrusive::list<Place> done_;  // of places_, the oldest first
  std::uint64_t serial_ = 0;
  std::uint64_t late_replies_ = 0;
};

}  // namespace lapwing
