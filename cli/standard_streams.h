// Standard input, output and error as the process received them. Output that cannot be written
// completely is an error.
//
// Thread safety: main's thread.
#pragma once

#include "absl/status/status.h"

namespace lapwing::cli {

// True if the process was started with the stream open. Requires reserve_standard_streams()
// (cli/process_start.h).
bool has_standard_input();
bool has_standard_output();

// Writes the buffer of std::cout. Returns an error if any output was lost; told_of_lost_output() is
// true from then on. Errors: kNoSpace, kSystem.
absl::Status flush_output();
bool told_of_lost_output();

// True if standard output is a pipe whose reader has closed it.
bool is_output_unread();

}  // namespace lapwing::cli
