// Limits the number of events in one-second windows.
//
// Thread safety: one thread. Time is passed in, so tests need not wait.
#pragma once

#include <cstdint>

namespace lapwing {

class RateWindow {
 public:
  explicit RateWindow(std::uint32_t events_max) : events_max_(events_max) {}

  // Returns true for the first events_max events of a window. A window begins with the first event
  // after the last window ended.
  bool admit(std::uint64_t now_ns) {
    if (now_ns - opened_ns_ >= kWindowNs) {
      opened_ns_ = now_ns;
      events_ = 0;
    }
    if (events_ == events_max_) return false;
    ++events_;
    return true;
  }

  std::uint64_t window_end_ns() const { return opened_ns_ + kWindowNs; }

 private:
  static constexpr std::uint64_t kWindowNs = 1'000'000'000;

  std::uint32_t events_max_;
  std::uint32_t events_ = 0;
  std::uint64_t opened_ns_ = 0;
};

}  // namespace lapwing
