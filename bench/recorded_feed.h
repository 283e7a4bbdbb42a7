// The real market by order that LAPWING_TEST_DATA holds, for rows that want it.
//
// Thread safety: free functions, any thread.
// Errors: a file that is there and cannot be read ends the benchmark (machine.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/dbn.h"

namespace lapwing::bench {

inline constexpr char kNoRecordedFeed[] =
    "LAPWING_TEST_DATA does not name a folder with esh4-glbx-mdp3-20231225.mbo.dbn.zst";

// All records of the ES file; nothing where LAPWING_TEST_DATA is not set or the file is not there.
std::optional<std::vector<dbn::MboMsg>> recorded_orders();

// When each record that is not part of the opening snapshot was received, as nanoseconds after the
// first. Silences longer than `silence_ns_max` are cut to that; everything closer is as recorded.
std::vector<std::uint64_t> arrivals_ns(const std::vector<dbn::MboMsg>& records,
                                       std::uint64_t silence_ns_max);

}  // namespace lapwing::bench
