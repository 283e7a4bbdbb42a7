// Checks of options that are texts: a wrong one is refused before anything begins, in a message
// that names the option.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::cli {

// For an option whose default is not the empty text.
inline CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return text.empty() ? std::string("it is empty") : ""; }, "");
}

// Accepts `old_name` in place of `name`.
inline CLI::Validator renamed(const std::string& old_name, const std::string& name) {
  const auto rename = [=](std::string& text) -> std::string {
    if (text == old_name) text = name;
    return {};
  };
  return CLI::Validator(rename, "");
}

// The names in a table of lapwing/detail/enum_names.h, and the value that has one of them.
template <typename Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}
template <typename Table>
auto value_in(const Table& table, const std::string& name) {
  return std::ranges::find(table, name, [](const auto& entry) { return std::string(entry.name); })
      ->value;
}

// `parse` takes a text and returns a StatusOr.
template <typename Parse>
CLI::Validator parsed_by(Parse parse) {
  const auto check = [parse = std::move(parse)](const std::string& text) -> std::string {
    return std::string(parse(text).status().message());
  };
  return CLI::Validator(check, "");
}

}  // namespace lapwing::cli
