// The commands of `lapwing`, one file each. Parsing sets `run` to the given command's
// function.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace lapwing::cli {

// Called by main after parsing. Returns the exit code.
using Run = std::function<int()>;

// Adds a command to the program. add_program adds all commands and their common help.
using AddCommand = void(CLI::App& app, Run& run);

AddCommand add_publish, add_tail, add_book, add_record, add_export, add_checkpoint, add_info,
    add_verify, add_repair, add_state, add_subscribers, add_events, add_symbols, add_cursors,
    add_pipe, add_ping, add_buses, add_top, add_serve, add_health, add_doctor, add_completion,
    add_manual, add_program;

}  // namespace lapwing::cli
