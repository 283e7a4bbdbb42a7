// What a command says on standard error, and how text that is not the program's own comes there and
// into tables: by printable(), so that no path, name or argument writes to the terminal.
//
// Thread safety: any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "os/printable.h"

namespace lapwing::cli {

// One line, "lapwing: <line>", by one write, so that the lines of two threads or processes do not
// mix.
void say(const std::string& line);

// One line of JSON, or with an indent several. In ASCII: what a path or a name has besides is
// escaped, and bytes that are no text are replaced.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace lapwing::cli
