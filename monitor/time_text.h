// Times in the format that every command uses.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "os/utc_time.h"

namespace lapwing {

// RFC 3339 in UTC, always to the nanosecond so that columns are aligned:
// 2026-11-20T14:30:00.000000000Z. `time_ns` is nanoseconds since 1970.
inline std::string time_text(std::uint64_t time_ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E9SZ", utc_time(time_ns), absl::UTCTimeZone());
}

}  // namespace lapwing
