// Options that place the library's threads: --thread-cpus and similar.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>

#include "lapwing/thread_placement.h"

namespace lapwing::cli {

// `threads` must stay valid until the command line is parsed.
void add_thread_options(CLI::App& command, ThreadPlacement& threads);

}  // namespace lapwing::cli
