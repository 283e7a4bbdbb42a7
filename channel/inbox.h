// The messages from the other side of a duplex that this side has not taken yet, and the calls that
// it has not answered yet.
//
// Thread safety: one thread. Owns copies of the messages: at most `window` calls, `window` one-way
// messages, and the last message taken.
//
// Invariants
//  1. A call is in the inbox, taken, or answered. An answered call is forgotten.
//  2. The other side has received both limits, so exceeding them is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "channel/call_table.h"
#include "lapwing/detail/channel_layout.h"

namespace lapwing {

struct InboxEntry {
  CallId call = 0;  // 0: a one-way message
  std::uint32_t type = 0;
  std::vector<std::byte> payload;
};

class Inbox {
 public:
  explicit Inbox(std::uint32_t window);

  // False if a correct peer would not send this now.
  bool add_call(CallId id, std::uint32_t type, std::span<const std::byte> payload);
  bool add_one_way(std::uint32_t type, std::span<const std::byte> payload);
  // The caller no longer waits for the call. Ignored if the call has been answered.
  void cancel(CallId id);

  bool empty() const { return count_ == 0; }
  // Takes the oldest message, in order of arrival. It is valid until the next take(). The inbox
  // must not be empty.
  const InboxEntry& take();
  std::uint64_t one_ways_taken() const { return one_ways_taken_; }

  // Whether the call was taken and can be answered.
  bool is_open(CallId id) const;
  bool is_cancelled(CallId id) const;  // and open
  void answer(CallId id);              // it must be open

 private:
  enum class State { kFree, kWaiting, kTaken };
  struct Call {
    State state = State::kFree;
    CallId id = 0;
    bool cancelled = false;
  };

  std::uint32_t window() const { return static_cast<std::uint32_t>(calls_.size()); }
  Call& call_of(CallId id) { return calls_[call_place(id, window())]; }
  const Call& call_of(CallId id) const { return calls_[call_place(id, window())]; }
  void add(CallId id, std::uint32_t type, std::span<const std::byte> payload);

  std::vector<Call> calls_;          // by place
  std::vector<InboxEntry> entries_;  // a ring; the last one taken is not overwritten
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::uint32_t one_ways_ = 0;  // in the inbox
  std::uint64_t one_ways_taken_ = 0;
};

}  // namespace lapwing
