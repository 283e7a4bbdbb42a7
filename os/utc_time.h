// Converts a time in ns since 1970, as in records and clocks, to an absl::Time.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace lapwing {

// Converts seconds and the rest separately, because an int64_t cannot hold the nanoseconds of times
// after 2262-04-11.
inline absl::Time utc_time(std::uint64_t time_ns) {
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  return absl::FromUnixSeconds(static_cast<std::int64_t>(time_ns / kSecondNs)) +
         absl::Nanoseconds(static_cast<std::int64_t>(time_ns % kSecondNs));
}

}  // namespace lapwing
