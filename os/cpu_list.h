// Lists of processors, as taskset, numactl and the kernel write them: "0-3,8".
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lapwing {

inline constexpr unsigned kCpusMax = 8192;  // no kernel is built for more

// The numbers that the text lists, ascending, each once. Errors: kInvalidArgument (not such a list;
// a range that goes down; a number from kCpusMax on).
absl::StatusOr<std::vector<unsigned>> parse_cpu_list(absl::string_view text);

// The shortest such text for these numbers, which may be in any order.
std::string cpu_list_text(std::vector<unsigned> cpus);

}  // namespace lapwing
