// Limits the bytes per second with which asks are answered. Up to a quarter of a second may be spent
// at once, and at least one message.
//
// Thread safety: one thread. Has no clock; times are ns of any monotonic clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "proto/relay_frames.h"

namespace lapwing {

class AskBudget {
 public:
  // Bytes per second; 0: unlimited.
  explicit AskBudget(std::uint64_t rate)
      : rate_(static_cast<double>(rate)),
        burst_(std::max(static_cast<double>(rate) / 4, double{kRelayMessageBytesMax})),
        left_(burst_) {}

  // How long to wait before a message of that size may be sent.
  std::uint64_t wait_ns(std::uint64_t bytes, std::uint64_t now_ns) {
    if (rate_ == 0) return 0;
    refill(now_ns);
    const double lacking = std::min(static_cast<double>(bytes), burst_) - left_;
    return lacking <= 0 ? 0 : static_cast<std::uint64_t>(lacking / rate_ * 1e9) + 1;
  }
  void spend(std::uint64_t bytes, std::uint64_t now_ns) {
    refill(now_ns);
    left_ -= static_cast<double>(bytes);
  }

 private:
  void refill(std::uint64_t now_ns) {
    if (now_ns > at_ns_ && at_ns_ != 0) {
      left_ = std::min(burst_, left_ + static_cast<double>(now_ns - at_ns_) / 1e9 * rate_);
    }
    at_ns_ = std::max(at_ns_, now_ns);
  }

  const double rate_;
  const double burst_;
  double left_;
  std::uint64_t at_ns_ = 0;
};

}  // namespace lapwing
