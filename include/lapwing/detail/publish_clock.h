// The time of day for stamps of records: nanoseconds since 1970, UTC, as CLOCK_REALTIME has them,
// at the cost of reading the processor's time-stamp counter where it ticks evenly.
//
// The counter is laid against the clock every 50 ms, so that a stamp follows a clock that is
// steered, and is late by 50 ms at most where one is set. Between two such looks it is off by some
// hundred nanoseconds at most. Until the rate is known, for 10 ms, each call looks at counter and
// clock. Where the counter does not tick evenly (no CPUID bit for an invariant one, a rate that
// changes or is below 1 GHz, another processor than x86-64), each call asks the clock.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>

namespace lapwing::detail {

// One moment by the counter and by the clocks.
struct ClockLook {
  std::uint64_t ticks = 0;
  std::uint64_t utc_ns = 0;
  std::uint64_t monotonic_ns = 0;
};

// What UTC is at a tick, for a while after each look.
class TickScale {
 public:
  // Whether utc_ns() is right at `ticks`.
  bool covers(std::uint64_t ticks) const { return ticks - anchor_.ticks < valid_ticks_; }
  std::uint64_t utc_ns(std::uint64_t ticks) const {
    return anchor_.utc_ns + (((ticks - anchor_.ticks) * ns_per_tick_) >> 32);
  }
  // A rate that is out of the question, or another one than before, begins the calibration anew.
  void add(const ClockLook& look);

 private:
  void restart(const ClockLook& look);

  ClockLook anchor_;               // the first look of a calibration, then the last
  std::uint64_t valid_ticks_ = 0;  // from the anchor on; 0: the rate is not known
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
