// Messages of a command on standard error, as text or, with --log json, as one object a line.
//
// Foreign text goes through printable() before it is written there or into tables. So no path, name
// or argument can control the terminal.
//
// Thread safety: say() any thread; the others main's, before there is another one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "lapwing/log.h"
#include "os/printable.h"

namespace lapwing::cli {

void add_log_option(CLI::App& command);
// What the entries of this process are about; empty: of no bus.
void set_log_bus(const std::string& bus);
bool logs_json();

// One line by one write, so that the lines of two threads or processes do not mix. As text it is
// "lapwing: <message>", and where standard error is the journal of systemd a priority before that.
void say(const LogEntry& entry);
// Something that is no event with a name of its own: `note`.
void say(const std::string& line);

}  // namespace lapwing::cli
