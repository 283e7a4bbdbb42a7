// Options that place the threads of the library: --thread-cpus and similar.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>

#include "lapwing/thread_placement.h"

namespace lapwing::cli {

// `threads` must live until the command line is parsed.
void add_thread_options(CLI::App& command, ThreadPlacement& threads);

}  // namespace lapwing::cli
