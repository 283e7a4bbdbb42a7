// Checks of options that are texts: a wrong one is refused before anything begins, in a message
// that names the option.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

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

// `parse` takes a text and returns a StatusOr.
template <typename Parse>
CLI::Validator parsed_by(Parse parse) {
  const auto check = [parse = std::move(parse)](const std::string& text) -> std::string {
    return std::string(parse(text).status().message());
  };
  return CLI::Validator(check, "");
}

}  // namespace lapwing::cli
