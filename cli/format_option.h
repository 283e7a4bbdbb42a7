// --format of the commands that show what a bus carries.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lapwing::cli {

enum class OutputFormat { kText, kJson, kCsv, kNone };

inline CLI::Option* add_format_option(CLI::App& command, std::string& format) {
  return command
      .add_option("--format", format,
                  "text, json (one object a line), csv (a header first), or none")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json", "csv", "none"}));
}

inline OutputFormat parse_format(const std::string& text) {
  if (text == "json") return OutputFormat::kJson;
  if (text == "csv") return OutputFormat::kCsv;
  return text == "none" ? OutputFormat::kNone : OutputFormat::kText;
}

}  // namespace lapwing::cli
