// How long a call may wait, and how it waits.
//
//   subscriber->next(std::chrono::milliseconds(100));  // at most 100 ms from now
//   subscriber->next(lapwing::Deadline::never());
//   subscriber->next(lapwing::Deadline::now());        // takes what is available, does not wait
//
// A duration counts from the moment at which the Deadline is made. A Deadline made before a loop
// limits the whole loop. A Deadline made for a single call limits only that call.
//
// A call that has waited and has no result by its deadline returns kTimedOut. With Deadline::now()
// it does not wait, and returns kWouldBlock. The same is true of calls whose names begin with try_,
// if they take no deadline. Calls that open something and need another process for it always wait,
// and return kTimedOut (Publisher::open, connect, take_over, load_state).
//
// A plain number cannot be used as a deadline, so a relative time is never taken for an absolute
// one.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "lapwing/detail/enum_names.h"

namespace lapwing {

// A point in time, on the monotonic clock (CLOCK_MONOTONIC), by which a call returns.
class Deadline {
 public:
  // A duration from now. A deadline with a negative duration has already passed. A duration beyond
  // the clock's range is never().
  template <typename Rep, typename Period>
  Deadline(std::chrono::duration<Rep, Period> from_now)  // NOLINT: implicit on purpose
      : Deadline(after(from_now)) {}
  Deadline(std::chrono::steady_clock::time_point at)  // NOLINT: implicit on purpose
      : ns_(at.time_since_epoch().count() < 0
                ? 0
                : static_cast<std::uint64_t>(
                      std::chrono::nanoseconds(at.time_since_epoch()).count())) {}

  static constexpr Deadline never() { return Deadline(kNever); }
  // A deadline that has passed: the call does what it can at once, or returns kWouldBlock.
  static constexpr Deadline now() { return Deadline(0); }
  // Nanoseconds of CLOCK_MONOTONIC.
  static constexpr Deadline at_monotonic_ns(std::uint64_t ns) { return Deadline(ns); }

  constexpr std::uint64_t monotonic_ns() const { return ns_; }
  constexpr bool is_never() const { return ns_ == kNever; }
  bool has_passed() const { return !is_never() && clock_ns() >= ns_; }

  friend constexpr auto operator<=>(Deadline, Deadline) = default;

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  explicit constexpr Deadline(std::uint64_t ns) : ns_(ns) {}
  static std::uint64_t clock_ns() {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
  template <typename Rep, typename Period>
  static Deadline after(std::chrono::duration<Rep, Period> from_now) {
    // In floating point first: the cast to whole nanoseconds could overflow.
    const double ns = std::chrono::duration<double, std::nano>(from_now).count();
    if (!(ns > 0)) return now();
    if (ns >= kFarthestNs) return never();
    const auto whole = std::chrono::duration_cast<std::chrono::nanoseconds>(from_now).count();
    return Deadline(clock_ns() + static_cast<std::uint64_t>(whole));
  }
  static constexpr double kFarthestNs = 9e18;  // 285 years

  std::uint64_t ns_;
};

// Special values for options that are durations. An option that needs a duration refuses 0.
inline constexpr std::chrono::nanoseconds kForever = std::chrono::nanoseconds::max();
inline constexpr std::chrono::nanoseconds kNever = kForever;
inline constexpr std::chrono::nanoseconds kOnRequest = kForever;

// How a reader waits for the next record, or an end of a channel for the other side.
enum class WaitStrategy : std::uint32_t {
  kBusy = 1,     // spins; needs a core of its own
  kBackoff = 2,  // spins for a while, then yields, then sleeps
  kPark = 3,     // sleeps at once
};

// Stable identifiers, shown by commands and in JSON.
inline constexpr detail::EnumName<WaitStrategy> kWaitStrategyNames[] = {
    {WaitStrategy::kBusy, "busy"},
    {WaitStrategy::kBackoff, "backoff"},
    {WaitStrategy::kPark, "park"},
};
constexpr const char* name_of(WaitStrategy wait) {
  return detail::name_in(kWaitStrategyNames, wait);
}

}  // namespace lapwing
