// --user of the commands that show the buses of the machine.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/text_option.h"
#include "monitor/watched_users.h"

namespace lapwing::cli {

inline void add_users_option(CLI::App& command, std::vector<std::string>& users) {
  command
      .add_option(
          "--user", users,
          "also show buses of USER (name, number or `all`); default: only your own and root's")
      ->check(parsed_by([](const std::string& text) { return parse_watched_users({text}); }))
      ->type_name("USER");
}

}  // namespace lapwing::cli
