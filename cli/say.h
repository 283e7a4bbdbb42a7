// Prints a command's messages on standard error, as text or, with --log json, as one object per
// line.
//
// Untrusted text passes through printable() before it is printed in messages or tables, so that no
// path, name or argument can control the terminal.
//
// Thread safety: say() from any thread; the others from main's thread, before another thread
// starts.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "lapwing/log.h"
#include "os/printable.h"

namespace lapwing::cli {

void add_log_option(CLI::App& command);
// Sets the bus that this process's messages concern; empty if there is none.
void set_log_bus(const std::string& bus);
bool logs_json();

// Writes one line with one write, so that lines from different threads or processes do not mix. As
// text, it is "lapwing: <message>", preceded by a priority if standard error is systemd's journal.
void say(const LogEntry& entry);
// Prints a message that has no event name of its own under the name `note`.
void say(const std::string& line);

}  // namespace lapwing::cli
