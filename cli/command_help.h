// Adds a command whose help contains a summary, the options, examples and the exit codes. The list
// of all commands shows only the summaries.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/say.h"

namespace lapwing::cli {

// `about` is the summary, an empty line, then the examples and remarks.
inline CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& about) {
  const std::size_t end = about.find("\n\n");
  CLI::App& command = *app.add_subcommand(name, about.substr(0, end));
  const std::string rest = end == std::string::npos ? "" : about.substr(end + 2) + "\n\n";
  command.footer(rest + exit_codes_help());
  add_log_option(command);
  return command;
}

// A command and its option values, which have the same lifetime.
template <typename Options>
struct AddedCommand {
  CLI::App& command;
  Options& options;
};

// Adds a command that calls `function` with its options.
template <typename Options>
AddedCommand<Options> add_command(CLI::App& app, Run& run, const std::string& name,
                                  const std::string& about, int (*function)(const Options&)) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = add_command(app, name, about);
  command.callback([=, &run] { run = [function, options] { return function(*options); }; });
  return {command, *options};
}

}  // namespace lapwing::cli
