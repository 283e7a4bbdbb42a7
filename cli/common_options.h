// Options shared by several commands.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/option_checks.h"
#include "lapwing/waiting.h"
#include "monitor/watched_users.h"
#include "snapshot/dbn/instrument_name.h"

namespace lapwing::cli {

inline void add_bus_option(CLI::App& command, std::string& bus) {
  command.add_option("--bus", bus, "directory of the bus")->required()->type_name("DIR");
}

inline void add_summary_option(CLI::App& command, bool& summary) {
  command.add_flag("--summary", summary, "print one line of JSON on standard output at the end");
}

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

inline void add_users_option(CLI::App& command, std::vector<std::string>& users) {
  command
      .add_option(
          "--user", users,
          "also show buses of USER (name, number or `all`); default: only your own and root's")
      ->check(parsed_by([](const std::string& text) { return parse_watched_users({text}); }))
      ->type_name("USER");
}

// --bus and --user, for the commands that watch several buses.
inline void add_buses_options(CLI::App& command, std::vector<std::string>& buses,
                              std::vector<std::string>& users) {
  command.add_option("--bus", buses, "directory of a bus; default: all buses shown (see --user)")
      ->type_name("DIR");
  add_users_option(command, users);
}

inline void add_interval_option(CLI::App& command, std::uint64_t& interval_ns) {
  command.add_option("--interval", interval_ns, "between two readings")
      ->transform(as_duration_ns())
      ->type_name("DURATION")
      ->default_str("1s");
}

// `what` names what the command waits for, for example "records".
inline void add_wait_option(CLI::App& command, std::string& wait, const std::string& what) {
  command
      .add_option(
          "--wait", wait,
          "how to wait for " + what + ": busy (uses a core, lowest latency), backoff, or park")
      ->capture_default_str()
      ->check(CLI::IsMember(names_in(kWaitStrategyNames)));
}

inline WaitStrategy parse_wait(const std::string& text) {
  return value_in(kWaitStrategyNames, text);
}

inline constexpr char kInstrument[] = "--instrument";

inline CLI::Option* add_instrument_option(CLI::App& command, std::string& instrument) {
  return command
      .add_option(kInstrument, instrument,
                  "only this instrument: a symbol of the feed's metadata, even one of digits, or "
                  "a number such as id:17077")
      ->check(parsed_by(parse_instrument))
      ->type_name("SYMBOL|id:N");
}

}  // namespace lapwing::cli
