// What a command says on standard error, and how text that is not the program's own comes there and
// into tables: by printable(), so that no path, name or argument writes to the terminal.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "os/printable.h"

namespace lapwing::cli {

// One line, "lapwing: <line>", by one write, so that the lines of two threads or processes do not
// mix.
void say(const std::string& line);

}  // namespace lapwing::cli
