// Standard input, output and error as they were given: a closed one stays closed, and an output
// that did not take everything is an error.
//
// Thread safety: main's thread.
#pragma once

#include "absl/status/status.h"

namespace lapwing::cli {

// Whether they were given. Requires reserve_standard_streams() at the start (cli/process_start.h).
bool has_standard_input();
bool has_standard_output();

// Writes what std::cout still holds. An error if anything that was written to it is lost; then, and
// from then on, told_of_lost_output(). Errors: kNoSpace, kSystem.
absl::Status flush_output();
bool told_of_lost_output();

// Nobody is left to read standard output, a pipe.
bool is_output_unread();

}  // namespace lapwing::cli
