// lapwing buses: the buses of this machine.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/not_shown.h"
#include "cli/say.h"
#include "cli/users_option.h"
#include "monitor/bus_search.h"
#include "monitor/count_text.h"
#include "monitor/json_text.h"
#include "monitor/publisher_state.h"
#include "monitor/status_json.h"

namespace lapwing::cli {
namespace {

constexpr char kAbout[] =
    "List your own and root's buses, and what their publishers do.\n\n"
    "  lapwing buses\n"
    "  lapwing buses --user 1000 --json    also those of user 1000\n"
    "  lapwing buses --user all\n\n"
    "A publisher announces its bus in shared memory, and removes the announcement when it closes.\n"
    "So a closed bus is not listed, but a bus whose publisher was killed is.\n\n"
    "States: running; stopped (the process, by a signal or a debugger); silent (no heartbeat\n"
    "for 3 s); gone (it ended without closing); closed (closing now); unreadable.";

BusLine line_of(const FoundBus& bus) {
  return {bus, read_ring_status(bus.announcement.directory)};
}

void print_line(const BusLine& line) {
  const BusAnnouncement& bus = line.bus.announcement;
  const std::string state = line.ring.ok() ? name_of(state_of_publisher(*line.ring)) : "unreadable";
  const auto sequence = [&](Sequence RingStatus::* which) {
    return line.ring.ok() ? absl::StrCat((*line.ring).*which) : std::string("-");
  };
  std::cout << absl::StrFormat("%-10s %-16s %14s %14s %8d %6d  %s\n", state, printable(bus.name),
                               sequence(&RingStatus::head), sequence(&RingStatus::durable),
                               bus.publisher_pid, line.bus.owner, printable(bus.directory));
  if (!line.ring.ok()) {
    std::cout << "           " << printable(std::string(line.ring.status().message())) << '\n';
  }
}

void print_rest(const FoundBuses& found) {
  std::cout << count_text(found.buses.size(), "bus", "buses");
  if (const std::string rest = not_shown_text(found); !rest.empty()) std::cout << "; " << rest;
  std::cout << '\n';
}

struct BusesOptions {
  std::vector<std::string> users;
  bool json = false;
};

int list_buses(const BusesOptions& options) {
  const absl::StatusOr<WatchedUsers> users = parse_watched_users(options.users);
  if (!users.ok()) return fail(users.status());
  const FoundBuses found = find_buses(*users);
  std::vector<BusLine> lines;
  for (const FoundBus& bus : found.buses) lines.push_back(line_of(bus));
  if (options.json) {
    std::cout << json_text(buses_json(found, lines), 2) << '\n';
    return kExitDone;
  }
  std::cout << absl::StrFormat("%-10s %-16s %14s %14s %8s %6s  %s\n", "state", "name", "head",
                               "durable", "pid", "uid", "directory");
  for (const BusLine& line : lines) print_line(line);
  print_rest(found);
  return kExitDone;
}

}  // namespace

void add_buses(CLI::App& app, Run& run) {
  auto options = std::make_shared<BusesOptions>();
  CLI::App& command = add_command(app, "buses", kAbout);
  add_users_option(command, options->users);
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &run] { run = [options] { return list_buses(*options); }; });
}

}  // namespace lapwing::cli
