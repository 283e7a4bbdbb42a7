// When a beat is due: every kBeatNs, and at once when `durable` reaches `head`.
//
// `durable` moves without waking anybody. While it is below `head` it is polled, first often and
// then less so.
//
// Thread safety: one thread. Has no clock; times are ns of any monotonic clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::uint64_t kBeatNs = 250'000'000;

class Beats {
 public:
  bool is_due(Sequence head, Sequence durable, std::uint64_t now_ns) {
    if (head != head_) poll_ns_ = kPollNsMin;
    head_ = head;
    is_behind_ = durable < head;
    const bool has_reached = was_behind_ && !is_behind_;
    if (is_behind_) was_behind_ = true;
    return has_reached || now_ns >= next_ns_;
  }
  void sent(std::uint64_t now_ns) {
    next_ns_ = now_ns + kBeatNs;
    was_behind_ = is_behind_;
  }
  // When to call is_due() again.
  std::uint64_t next_look_ns(std::uint64_t now_ns) {
    if (!is_behind_) return next_ns_;
    const std::uint64_t poll_ns = poll_ns_;
    poll_ns_ = std::min(2 * poll_ns_, kBeatNs);
    return std::min(next_ns_, now_ns + poll_ns);
  }

 private:
  static constexpr std::uint64_t kPollNsMin = 2'000'000;

  std::uint64_t next_ns_ = 0;
  std::uint64_t poll_ns_ = kPollNsMin;
  Sequence head_ = kNoSequence;
  bool is_behind_ = false;
  bool was_behind_ = false;  // since the last beat
};

}  // namespace lapwing
