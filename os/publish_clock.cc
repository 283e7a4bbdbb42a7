#include "lapwing/detail/publish_clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "absl/numeric/int128.h"
#include "os/kernel.h"

namespace lapwing::detail {
namespace {

constexpr std::uint64_t kCalibrateNs = 10'000'000;
constexpr std::uint64_t kValidNs = 50'000'000;
// A counter below 1 GHz is coarser than a nanosecond.
constexpr std::uint64_t kNsPerTickMax = std::uint64_t{1} << 32;
// More than clock steering (500 parts in a million) and an interrupted measurement can
// cause.
constexpr std::uint64_t kRateChangeMax = 1000;  // one part in this many, between two measurements

#if defined(__x86_64__)
bool ticks_evenly() {
  static const bool evenly = [] {
    constexpr unsigned kPowerManagement = 0x8000'0007;
    constexpr unsigned kInvariantCounter = 1 << 8;  // of EDX
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid(kPowerManagement, &eax, &ebx, &ecx, &edx) != 0 &&
           (edx & kInvariantCounter) != 0;
  }();
  return evenly;
}

// Uses the shortest of several measurements, because an interrupt between reading the counter and a
// clock shifts one relative to the other.
ClockLook look_at_clocks() {
  constexpr int kTries = 4;
  ClockLook best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    ClockLook look;
    const std::uint64_t before = __builtin_ia32_rdtsc();
    look.utc_ns = wall_ns();
    look.monotonic_ns = monotonic_ns();
    const std::uint64_t taken = __builtin_ia32_rdtsc() - before;
    if (taken >= shortest) continue;
    shortest = taken;
    look.ticks = before + taken / 2;
    best = look;
  }
  return best;
}
#endif

}  // namespace

void TickScale::restart(const ClockLook& look) {
  anchor_ = look;
  has_anchor_ = true;
  valid_ticks_ = 0;
  ns_per_tick_ = 0;
}

void TickScale::add(const ClockLook& look) {
  if (!has_anchor_ || look.ticks <= anchor_.ticks || look.monotonic_ns <= anchor_.monotonic_ns) {
    return restart(look);
  }
  const std::uint64_t ns = look.monotonic_ns - anchor_.monotonic_ns;
  if (ns < kCalibrateNs) return;
  const absl::uint128 rate = (absl::uint128{ns} << 32) / (look.ticks - anchor_.ticks);
  if (rate == 0 || rate >= kNsPerTickMax) return restart(look);
  const auto now = static_cast<std::uint64_t>(rate);
  const std::uint64_t change = now > ns_per_tick_ ? now - ns_per_tick_ : ns_per_tick_ - now;
  if (ns_per_tick_ != 0 && change > ns_per_tick_ / kRateChangeMax) return restart(look);
  anchor_ = look;
  ns_per_tick_ = now;
  valid_ticks_ = (kValidNs << 32) / now;
}

std::uint64_t PublishClock::look() {
#if defined(__x86_64__)
  if (ticks_evenly()) {
    const ClockLook look = look_at_clocks();
    scale_.add(look);
    return look.utc_ns;
  }
#endif
  return wall_ns();
}

}  // namespace lapwing::detail
