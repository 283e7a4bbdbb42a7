// The log of the process: lines go to a function of the program's, into a queue, or nowhere.
//
// Thread safety: any thread.
#pragma once

#include <string>

namespace lapwing::c {

void log_line(const std::string& line);

}  // namespace lapwing::c
