// Makes a command whose help teaches by example: a summary, the options, then the examples and the
// exit codes. The list of all commands shows the summaries alone.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/exit_codes.h"
#include "cli/say.h"

namespace lapwing::cli {

// `about` is the summary, an empty line, and the examples and remarks.
inline CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& about) {
  const std::size_t end = about.find("\n\n");
  CLI::App& command = *app.add_subcommand(name, about.substr(0, end));
  const std::string rest = end == std::string::npos ? "" : about.substr(end + 2) + "\n\n";
  command.footer(rest + exit_codes_help());
  add_log_option(command);
  return command;
}

}  // namespace lapwing::cli
