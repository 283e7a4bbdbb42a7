#include "cli/help/command_tree.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/exit_codes.h"

namespace lapwing::cli {
namespace {

// Splits "TEXT:{fill,skip,stop}" into the value's name and its choices.
void split_type(const std::string& type, OptionText& option) {
  const std::size_t begin = type.find(":{");
  option.value = type.substr(0, begin);
  if (begin == std::string::npos) return;
  const std::string list = type.substr(begin + 2, type.rfind('}') - begin - 2);
  option.choices = absl::StrSplit(list, ',');
}

OptionText text_of_option(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back(absl::StrCat("-", name));
  for (const std::string& name : option.get_lnames())
    text.names.push_back(absl::StrCat("--", name));
  text.is_positional = option.get_positional();
  if (text.is_positional) text.names = {option.get_name(true)};
  text.is_required = option.get_required();
  if (option.get_items_expected_max() > 0) split_type(option.get_type_name(), text);
  text.default_value = option.get_default_str();
  text.about = option.get_description();
  return text;
}

CommandText text_of_command(const CLI::App& command) {
  const std::string footer = command.get_footer();
  const std::string more(absl::StripSuffix(footer, exit_codes_help()));
  CommandText text{command.get_name(), command.get_description(), more, {}};
  for (const CLI::Option* option : command.get_options()) {
    text.options.push_back(text_of_option(*option));
  }
  return text;
}

}  // namespace

ProgramText text_of(const CLI::App& program) {
  ProgramText text{text_of_command(program), {}};
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    text.commands.push_back(text_of_command(*command));
  }
  return text;
}

}  // namespace lapwing::cli
