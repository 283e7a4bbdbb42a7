#include "cli/help/completion.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace lapwing::cli {
namespace {

enum class Completes { kNothing, kChoices, kDirectories, kFiles };

Completes completes(const OptionText& option) {
  if (!option.choices.empty()) return Completes::kChoices;
  if (absl::StartsWith(option.value, "DIR")) return Completes::kDirectories;
  if (option.value == "FILE" || option.value == "PATH") return Completes::kFiles;
  return Completes::kNothing;
}

std::string names_of_commands(const ProgramText& program) {
  return absl::StrJoin(program.commands, " ", [](std::string* out, const CommandText& command) {
    absl::StrAppend(out, command.name);
  });
}

std::string names_of_options(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options) {
    if (option.is_positional) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return absl::StrJoin(names, " ");
}

bool takes_files(const CommandText& command) {
  return std::any_of(command.options.begin(), command.options.end(), [](const OptionText& option) {
    return option.is_positional && completes(option) == Completes::kFiles;
  });
}

// Completes an option's value with compgen.
std::string bash_values(const CommandText& command, const OptionText& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) patterns.push_back(command.name + "." + name);
  const std::string begin = absl::StrCat("    ", absl::StrJoin(patterns, "|"), ") ");
  switch (completes(option)) {
    case Completes::kChoices:
      return absl::StrCat(begin, "words='", absl::StrJoin(option.choices, " "), "' ;;\n");
    case Completes::kDirectories:
      return begin + "kind=directory ;;\n";
    case Completes::kFiles:
      return begin + "kind=file ;;\n";
    case Completes::kNothing:
      return begin + "return ;;\n";
  }
  return "";
}

// Quotes the text for zsh and fish.
std::string in_quotes(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// Specifies one option for zsh's _arguments: '--bus[directory of the bus]:DIR:_files -/'.
std::string zsh_spec(const OptionText& option, const std::string& name) {
  const std::string about =
      absl::StrReplaceAll(option.about, {{"[", "("}, {"]", ")"}, {":", "\\:"}, {"\\", "\\\\"}});
  std::string spec = option.is_positional ? "*" : absl::StrCat(name, "[", about, "]");
  if (option.value.empty()) return spec;
  absl::StrAppend(&spec, ":", absl::StrReplaceAll(option.value, {{":", "\\:"}}), ":");
  switch (completes(option)) {
    case Completes::kChoices:
      return absl::StrCat(spec, "(", absl::StrJoin(option.choices, " "), ")");
    case Completes::kDirectories:
      return spec + "_files -/";
    case Completes::kFiles:
      return spec + "_files";
    case Completes::kNothing:
      return spec + " ";
  }
  return spec;
}

std::string fish_option(const CommandText& command, const OptionText& option) {
  std::string line =
      absl::StrCat("complete -c lapwing -n '__fish_seen_subcommand_from ", command.name, "'");
  for (const std::string& name : option.names) {
    absl::StrAppend(&line, absl::StartsWith(name, "--") ? " -l " : " -s ",
                    name.substr(name.find_first_not_of('-')));
  }
  switch (completes(option)) {
    case Completes::kChoices:
      absl::StrAppend(&line, " -x -a ", in_quotes(absl::StrJoin(option.choices, " ")));
      break;
    case Completes::kDirectories:
      absl::StrAppend(&line, " -x -a '(__fish_complete_directories)'");
      break;
    case Completes::kFiles:
      absl::StrAppend(&line, " -r -F");
      break;
    case Completes::kNothing:
      if (!option.value.empty()) absl::StrAppend(&line, " -x");
      break;
  }
  return absl::StrCat(line, " -d ", in_quotes(option.about), "\n");
}

}  // namespace

std::string bash_completion(const ProgramText& program) {
  std::string values;
  std::string options;
  for (const CommandText& command : program.commands) {
    for (const OptionText& option : command.options) {
      if (!option.is_positional && !option.value.empty()) values += bash_values(command, option);
    }
    absl::StrAppend(&options, "    ", command.name, ") words='", names_of_options(command), "'");
    absl::StrAppend(&options, takes_files(command) ? "; files=yes ;;\n" : " ;;\n");
  }
  return absl::StrCat(
      "# Completes lapwing in bash: lapwing completion bash\n"
      "_lapwing() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} words='' kind='' files=''\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '",
      names_of_commands(program), " ", names_of_options(program.program),
      "' -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]}.${COMP_WORDS[COMP_CWORD-1]} in\n",
      values,
      "  esac\n"
      "  if [[ -z $words && -z $kind ]]; then\n"
      "    case ${COMP_WORDS[1]} in\n",
      absl::StrReplaceAll(options, {{"    ", "      "}}),
      "    esac\n"
      "    [[ -n $files && $current != -* ]] && kind=file\n"
      "  fi\n"
      "  case $kind in\n"
      "    directory) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$current\")) "
      ";;\n"
      "    file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
      "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$current\")) ;;\n"
      "  esac\n"
      "}\n"
      "complete -F _lapwing lapwing\n");
}

std::string zsh_completion(const ProgramText& program) {
  std::string commands;
  std::string options;
  for (const CommandText& command : program.commands) {
    absl::StrAppend(&commands, "    ",
                    in_quotes(absl::StrCat(command.name, ":",
                                           absl::StrReplaceAll(command.about, {{":", "\\:"}}))),
                    "\n");
    absl::StrAppend(&options, "    ", command.name, ")\n      _arguments \\\n");
    for (const OptionText& option : command.options) {
      for (const std::string& name : option.names) {
        absl::StrAppend(&options, "        ", in_quotes(zsh_spec(option, name)), " \\\n");
      }
    }
    absl::StrAppend(&options, "        && return\n      ;;\n");
  }
  return absl::StrCat(
      "#compdef lapwing\n"
      "# Completes lapwing in zsh: lapwing completion zsh\n"
      "_lapwing() {\n"
      "  local -a commands\n"
      "  commands=(\n",
      commands,
      "  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $command in\n",
      options,
      "  esac\n"
      "}\n"
      "_lapwing \"$@\"\n");
}

std::string fish_completion(const ProgramText& program) {
  std::string script =
      "# Completes lapwing in fish: lapwing completion fish\n"
      "complete -c lapwing -f\n";
  for (const CommandText& command : program.commands) {
    absl::StrAppend(&script, "complete -c lapwing -n __fish_use_subcommand -a ", command.name,
                    " -d ", in_quotes(command.about), "\n");
    for (const OptionText& option : command.options) {
      if (!option.is_positional) script += fish_option(command, option);
    }
    if (takes_files(command)) {
      absl::StrAppend(&script, "complete -c lapwing -n '__fish_seen_subcommand_from ", command.name,
                      "' -F\n");
    }
  }
  return script;
}

}  // namespace lapwing::cli
