// Manual pages in man(7) macros, generated from the program's help.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "cli/help/command_tree.h"

namespace lapwing::cli {

struct ManualEdition {
  std::string version;  // "0.2.0"
  std::string date;     // "2026-11-26"
};

// lapwing(1): the program and its commands.
std::string manual_of_program(const ProgramText& program, const ManualEdition& edition);
// lapwing-COMMAND(1).
std::string manual_of_command(const CommandText& command, const ManualEdition& edition);

}  // namespace lapwing::cli
