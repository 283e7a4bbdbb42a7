// Scripts with which a shell completes the program's commands, options and values.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "cli/help/command_tree.h"

namespace lapwing::cli {

std::string bash_completion(const ProgramText& program);
std::string zsh_completion(const ProgramText& program);
std::string fish_completion(const ProgramText& program);

}  // namespace lapwing::cli
