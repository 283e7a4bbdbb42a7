#include "cli/say.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <variant>

#include "absl/strings/str_cat.h"
#include "monitor/json_text.h"
#include "monitor/time_text.h"
#include "os/kernel.h"

namespace lapwing::cli {
namespace {

// Syslog priority as in sd-daemon(3).
const char* priority_of(LogLevel level) {
  if (level == LogLevel::kInfo) return "<6>";
  return level == LogLevel::kWarning ? "<4>" : "<3>";
}

// systemd sets the device and inode of the journal socket. Standard error may since have been
// redirected.
bool is_standard_error_the_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat status{};
  return stream != nullptr && fstat(STDERR_FILENO, &status) == 0 &&
         absl::StrCat(status.st_dev, ":", status.st_ino) == stream;
}

struct Log {
  bool is_json = false;
  bool has_priorities = is_standard_error_the_journal();
  std::string bus;
};
Log& the_log() {
  static Log log;
  return log;
}

std::string json_of(const LogEntry& entry, const std::string& bus) {
  nlohmann::ordered_json json = {
      {"ts", time_text(wall_ns())}, {"level", name_of(entry.level)}, {"event", entry.event}};
  if (!bus.empty()) json["bus"] = bus;
  json["message"] = entry.message;
  for (const LogField& field : entry.fields) {
    std::visit([&](const auto& value) { json[field.key] = value; }, field.value);
  }
  return json_text(json);
}

}  // namespace

void add_log_option(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--log", [](const std::string& form) { the_log().is_json = form == "json"; },
          "form of the messages on standard error: text, or json (one object a line)")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
}

void set_log_bus(const std::string& bus) {
  the_log().bus = bus;
}

bool logs_json() {
  return the_log().is_json;
}

void say(const LogEntry& entry) {
  const Log& log = the_log();
  const std::string line = log.is_json
                               ? json_of(entry, log.bus)
                               : absl::StrCat(log.has_priorities ? priority_of(entry.level) : "",
                                              "lapwing: ", printable(entry.message));
  std::cerr << absl::StrCat(line, "\n");
}

void say(const std::string& line) {
  say(LogEntry{LogLevel::kInfo, "note", line});
}

}  // namespace lapwing::cli
