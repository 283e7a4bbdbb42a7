// The program's commands and options as plain values, from which completions and manual pages are
// generated.
//
// Thread safety: values and a pure function.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lapwing::cli {

struct OptionText {
  std::vector<std::string> names;  // "-h", "--help"; a positional argument's name: "path"
  bool is_positional = false;
  bool is_required = false;
  std::string value = {};                 // "DIR"; empty: a flag
  std::vector<std::string> choices = {};  // the only values, if they can be listed
  std::string default_value = {};
  std::string about = {};
};

struct CommandText {
  std::string name;   // "tail"
  std::string about;  // one sentence
  std::string more;   // examples, remarks
  std::vector<OptionText> options;
};

struct ProgramText {
  CommandText program;  // its name is "lapwing"
  std::vector<CommandText> commands;
};

ProgramText text_of(const CLI::App& program);

}  // namespace lapwing::cli
