// The commands of `lapwing`, one file each. Each adds itself to the program; `run` is set to what
// to do when that command was given.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace lapwing::cli {

// What main calls after parsing; returns the exit code.
using Run = std::function<int()>;

void add_publish(CLI::App& app, Run& run);
void add_tail(CLI::App& app, Run& run);
void add_book(CLI::App& app, Run& run);
void add_record(CLI::App& app, Run& run);
void add_export(CLI::App& app, Run& run);
void add_checkpoint(CLI::App& app, Run& run);
void add_info(CLI::App& app, Run& run);
void add_verify(CLI::App& app, Run& run);
void add_repair(CLI::App& app, Run& run);
void add_state(CLI::App& app, Run& run);
void add_subscribers(CLI::App& app, Run& run);
void add_events(CLI::App& app, Run& run);
void add_symbols(CLI::App& app, Run& run);
void add_cursors(CLI::App& app, Run& run);
void add_pipe(CLI::App& app, Run& run);
void add_ping(CLI::App& app, Run& run);
void add_buses(CLI::App& app, Run& run);
void add_top(CLI::App& app, Run& run);
void add_serve(CLI::App& app, Run& run);
void add_health(CLI::App& app, Run& run);
void add_doctor(CLI::App& app, Run& run);
void add_completion(CLI::App& app, Run& run);
void add_manual(CLI::App& app, Run& run);

}  // namespace lapwing::cli
