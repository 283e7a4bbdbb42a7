// Makes a command whose help teaches by example: a summary, the options, then the examples and the
// exit codes. The list of all commands shows the summaries alone.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/say.h"

namespace lapwing::cli {

inline constexpr char kExitCodesHelp[] =
    "Exit codes: 0 done; 1 any other error; 2 wrong usage; 3 stopped at a gap; 4 damaged data;\n"
    "5 no publisher within --reattach, or the other side of a channel is gone;\n"
    "6 done, but records or messages were lost.";

// `about` is the summary, an empty line, and the examples and remarks; with "Exit codes:" where a
// command has its own.
inline CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& about) {
  const std::size_t end = about.find("\n\n");
  CLI::App& command = *app.add_subcommand(name, about.substr(0, end));
  const std::string rest = end == std::string::npos ? "" : about.substr(end + 2) + "\n\n";
  const bool has_its_own = rest.find("Exit codes:") != std::string::npos;
  command.footer(has_its_own ? rest : rest + kExitCodesHelp);
  add_log_option(command);
  return command;
}

}  // namespace lapwing::cli
