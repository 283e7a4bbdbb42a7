// The real market-by-order data in LAPWING_TEST_DATA, for rows that need it.
//
// Thread safety: free functions, any thread.
// Errors: a file that exists and cannot be read ends the benchmark (machine.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/dbn.h"

namespace lapwing::bench {

inline constexpr char kNoRecordedFeed[] =
    "LAPWING_TEST_DATA does not name a folder with esh4-glbx-mdp3-20231225.mbo.dbn.zst";

// All records of the ES file; nullopt if LAPWING_TEST_DATA is not set or the file does not exist.
std::optional<std::vector<dbn::MboMsg>> recorded_orders();

// The time of receipt of each record after the opening snapshot, in nanoseconds after the first.
// Silences longer than `silence_ns_max` are shortened to it; shorter intervals stay as recorded.
std::vector<std::uint64_t> arrivals_ns(const std::vector<dbn::MboMsg>& records,
                                       std::uint64_t silence_ns_max);

}  // namespace lapwing::bench
