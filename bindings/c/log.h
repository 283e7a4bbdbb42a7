// The process's log. Lines are passed to a function that the program sets, put into a queue, or
// dropped.
//
// Thread safety: any thread.
#pragma once

#include <string>

namespace lapwing::c {

void log_line(const std::string& line);

}  // namespace lapwing::c
