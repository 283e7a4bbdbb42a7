// The first part of --wait backoff: looking again and again for a moment before going to sleep.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>

#include "lapwing/detail/atomic_word.h"
#include "os/kernel.h"

namespace lapwing::cli {

inline constexpr std::uint64_t kSpinNs = 50'000;           // about what a sleep and a wake-up cost
inline constexpr std::uint64_t kBusyTurnNs = 100'000'000;  // of --wait busy, between looks around

// Calls `found` until it says so, for kSpinNs at most. Returns what it said last.
template <typename Found>
bool spin_until(const Found& found) {
  constexpr int kLooksPerClock = 32;
  const std::uint64_t until_ns = monotonic_ns() + kSpinNs;
  do {
    for (int look = 0; look < kLooksPerClock; ++look) {
      if (found()) return true;
      spin_pause();
    }
  } while (monotonic_ns() < until_ns);
  return false;
}

}  // namespace lapwing::cli
