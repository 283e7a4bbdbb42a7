// The clock that stamps records: CLOCK_REALTIME in ns since 1970, UTC. If the processor's
// time-stamp counter runs at a constant rate, a call costs one read of that counter.
//
// The counter is compared with the clock every 50 ms. So stamps follow a clock that is slewed, and
// reflect a step of the clock within 50 ms. Between two comparisons, a stamp is off by at most a
// few hundred nanoseconds. For the first 10 ms, the rate is not known, and each call reads both
// counter and clock.
//
// If the counter's rate is not constant, each call reads the clock. This is the case if the CPUID
// bit for an invariant counter is not set, if the rate changes or is below 1 GHz, and on processors
// other than x86-64.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>

namespace lapwing::detail {

// The counter and the clocks at one moment.
struct ClockLook {
  std::uint64_t ticks = 0;
  std::uint64_t utc_ns = 0;
  std::uint64_t monotonic_ns = 0;
};

// Converts ticks to UTC for some time after each comparison.
class TickScale {
 public:
  // Returns whether utc_ns() is valid at `ticks`.
  bool covers(std::uint64_t ticks) const { return ticks - anchor_.ticks < valid_ticks_; }
  std::uint64_t utc_ns(std::uint64_t ticks) const {
    return anchor_.utc_ns + (((ticks - anchor_.ticks) * ns_per_tick_) >> 32);
  }
  // Restarts the calibration if the rate is impossible or has changed.
  void add(const ClockLook& look);

 private:
  void restart(const ClockLook& look);

  ClockLook anchor_;               // first comparison of a calibration, then the newest one
  std::uint64_t valid_ticks_ = 0;  // counted from the anchor; 0: the rate is not known
  std::uint64_t ns_per_tick_ = 0;  // in units of 2^-32
  bool has_anchor_ = false;
};

class PublishClock {
 public:
  [[nodiscard, gnu::always_inline]] std::uint64_t utc_ns() {
#if defined(__x86_64__)
    const std::uint64_t ticks = __builtin_ia32_rdtsc();
    if (scale_.covers(ticks)) [[likely]] {
      return scale_.utc_ns(ticks);
    }
#endif
    return look();
  }

 private:
  [[gnu::cold, gnu::noinline]] std::uint64_t look();

#if defined(__x86_64__)
  TickScale scale_;
#endif
};

}  // namespace lapwing::detail
