// Lists of processors, as taskset, numactl and the kernel write them: "0-3,8".
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lapwing {

inline constexpr unsigned kCpusMax = 8192;  // kernels do not support more

// Returns the numbers in the list, ascending, each once. Errors: kInvalidArgument (not a list in
// this form, a descending range, or a number of kCpusMax or more).
absl::StatusOr<std::vector<unsigned>> parse_cpu_list(absl::string_view text);

// Returns the shortest list for these numbers, which may be in any order.
std::string cpu_list_text(std::vector<unsigned> cpus);

}  // namespace lapwing
