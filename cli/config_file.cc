#include "cli/config_file.h"

#define TOML_EXCEPTIONS 0
// Limit for nested values. An option takes a value or a list.
#define TOML_MAX_NESTED_VALUES 4
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/small_file.h"

namespace lapwing::cli {
namespace {

// Returns the value as the command line would contain it; nullopt for tables and dates.
std::optional<std::string> text_of_value(const toml::node& value) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* number = value.as_integer()) return absl::StrCat(number->get());
  if (const auto* number = value.as_floating_point()) return absl::StrCat(number->get());
  return std::nullopt;
}

// Returns the number of the first line with more than kLineDotsMax dots, or 0. Dots in strings and
// comments count as well, because skipping those would require parsing TOML.
std::size_t line_of_many_dots(std::string_view text) {
  std::size_t line = 1;
  std::size_t dots = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    } else if (c == '.' && ++dots > kLineDotsMax) {
      return line;
    }
  }
  return 0;
}

class ConfigFile {
 public:
  ConfigFile(CLI::App& command, std::string path) : command_(command), path_(std::move(path)) {}
  absl::Status apply();

 private:
  // Sets the options in a table: the top level of the file, or the command's own table.
  absl::Status set_all(const toml::table& table, bool is_own);
  // True if `name` is a command that reads such files.
  bool takes_config(const std::string& name) const;
  // Sets one option. Error: kInvalidArgument.
  absl::Status set(const std::string& key, const toml::node& value);
  static absl::StatusOr<std::vector<std::string>> texts_of_flag(const std::string& key,
                                                                const toml::node& value);
  static absl::StatusOr<std::vector<std::string>> texts_of_option(const std::string& key,
                                                                  const toml::node& value,
                                                                  bool takes_many);

  CLI::App& command_;
  const std::string path_;
  std::set<std::string> seen_;
};

absl::Status ConfigFile::apply() {
  const absl::StatusOr<std::string> text = read_small_file(path_, kConfigBytesMax);
  if (!text.ok()) return text.status();
  if (const std::size_t line = line_of_many_dots(*text); line != 0) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(path_, ", line ", line, " has more than ", kLineDotsMax,
                                   " dots. Split a long list over several lines."));
  }
  const toml::parse_result parsed = toml::parse(*text);
  if (!parsed) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(path_, ", line ", parsed.error().source().begin.line,
                                   " is not TOML: ", std::string(parsed.error().description())));
  }
  // The command's own table comes first, because set options are not overwritten.
  const toml::table& file = parsed.table();
  if (const toml::table* own = file[command_.get_name()].as_table()) {
    if (const absl::Status done = set_all(*own, true); !done.ok()) return done;
  }
  return set_all(file, false);
}

absl::Status ConfigFile::set_all(const toml::table& table, bool is_own) {
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (!is_own && value.is_table() && takes_config(name)) continue;  // another command's table
    if (!seen_.insert(name).second) continue;
    if (const absl::Status done = set(name, value); !done.ok()) {
      return make_error(
          Errc::kInvalidArgument,
          absl::StrCat(path_, ", line ", key.source().begin.line, ": ", done.message()));
    }
  }
  return absl::OkStatus();
}

bool ConfigFile::takes_config(const std::string& name) const {
  const auto commands = command_.get_parent()->get_subcommands(
      [&](const CLI::App* command) { return command->get_name() == name; });
  return !commands.empty() && commands.front()->get_option_no_throw("--config") != nullptr;
}

absl::Status ConfigFile::set(const std::string& key, const toml::node& value) {
  CLI::Option* option = command_.get_option_no_throw(absl::StrCat("--", key));
  if (option == nullptr) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("`", command_.get_name(), "` has no option `", key,
                     "`; write its options as on the command line, without the dashes"));
  }
  if (!option->get_configurable()) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("`", key, "` is allowed only on the command line; remove it"));
  }
  if (option->count() > 0) return absl::OkStatus();  // set on the command line
  absl::StatusOr<std::vector<std::string>> texts =
      option->get_items_expected_max() == 0
          ? texts_of_flag(key, value)
          : texts_of_option(key, value, option->get_expected_max() > 1);
  if (!texts.ok()) return texts.status();
  if (texts->empty()) return absl::OkStatus();
  try {
    option->add_result(*std::move(texts));
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    return make_error(Errc::kInvalidArgument, error.what());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ConfigFile::texts_of_flag(const std::string& key,
                                                                   const toml::node& value) {
  const auto* flag = value.as_boolean();
  if (flag == nullptr) {
    return make_error(Errc::kInvalidArgument, absl::StrCat("`", key, "` takes true or false"));
  }
  return flag->get() ? std::vector<std::string>{"true"} : std::vector<std::string>{};
}

absl::StatusOr<std::vector<std::string>> ConfigFile::texts_of_option(const std::string& key,
                                                                     const toml::node& value,
                                                                     bool takes_many) {
  const auto* list = takes_many ? value.as_array() : nullptr;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < (list != nullptr ? list->size() : 1); ++i) {
    std::optional<std::string> text = text_of_value(list != nullptr ? (*list)[i] : value);
    if (!text) {
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("`", key, "` takes a text in quotes or a number",
                                     takes_many ? ", or a list of them: [\"a\", \"b\"]" : ""));
    }
    texts.push_back(*std::move(text));
  }
  return texts;
}

}  // namespace

void add_config_option(CLI::App& command) {
  const auto apply = [&command](const std::string& path) {
    return std::string(ConfigFile(command, path).apply().message());
  };
  command
      .add_option(
          "--config",
          "TOML file of options, `name = value` each, without the dashes; the command line wins")
      ->check(CLI::Validator(apply, ""))
      ->configurable(false)
      ->type_name("FILE");
}

}  // namespace lapwing::cli
