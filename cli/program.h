// The program's command line as a whole: what `lapwing` parses, and what its manual is made of.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace lapwing::cli {

// Adds every command to `app`, and to its help what they have in common.
void add_program(CLI::App& app, Run& run);

}  // namespace lapwing::cli
