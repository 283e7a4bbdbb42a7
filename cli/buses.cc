// lapwing buses: lists the buses on this machine.
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/not_shown.h"
#include "cli/say.h"
#include "monitor/count_text.h"
#include "monitor/json_text.h"
#include "monitor/machine_monitor.h"
#include "monitor/status_json.h"
#include "os/kernel.h"

namespace lapwing::cli {
namespace {

constexpr char kBusesAbout[] =
    "List your own and root's buses, and the states of their publishers.\n\n"
    "  lapwing buses\n"
    "  lapwing buses --user 1000 --json    also those of user 1000\n"
    "  lapwing buses --user all\n\n"
    "A publisher announces its bus in shared memory, and removes the announcement when it closes.\n"
    "So a closed bus is not listed, but a bus whose publisher was killed is.\n\n"
    "States: running; stopped (the process, by a signal or a debugger); silent (no heartbeat\n"
    "for 3 s); gone (it ended without closing); closed (closing now); unreadable.";

void print_line(const BusReading& bus) {
  const auto sequence = [&](Sequence RingStatus::* which) {
    return bus.ring.ok() ? absl::StrCat((*bus.ring).*which) : std::string("-");
  };
  std::cout << absl::StrFormat(
      "%-10s %-16s %14s %14s %8d %6d  %s\n", bus.state_text(), printable(bus.label),
      sequence(&RingStatus::head), sequence(&RingStatus::durable),
      bus.announcement ? bus.announcement->publisher_pid : 0, bus.uid, printable(bus.directory));
  if (!bus.ring.ok()) {
    std::cout << "           " << printable(std::string(bus.ring.status().message())) << '\n';
  }
}

void print_rest(const MachineReading& found) {
  std::cout << count_text(found.buses.size(), "bus", "buses");
  if (const std::string rest = not_shown_text(found.left_out); !rest.empty())
    std::cout << "; " << rest;
  std::cout << '\n';
}

struct BusesOptions {
  std::vector<std::string> users;
  bool json = false;
};

int list_buses(const BusesOptions& options) {
  const absl::StatusOr<WatchedUsers> users = parse_watched_users(options.users);
  if (!users.ok()) return fail(users.status());
  absl::StatusOr<MachineMonitor> monitor =
      MachineMonitor::start({.directories = {}, .users = *users, .parts = BusParts::kRing});
  if (!monitor.ok()) return fail(monitor.status());
  settle(*monitor);  // Other users' buses that have not been read by then are listed as not read.
  const MachineReading reading = monitor->read(monotonic_ns(), wall_ns());
  if (options.json) {
    std::cout << json_text(buses_json(reading), 2) << '\n' << std::flush;
    return kExitDone;
  }
  std::cout << absl::StrFormat("%-10s %-16s %14s %14s %8s %6s  %s\n", "state", "bus", "head",
                               "durable", "pid", "uid", "directory");
  for (const BusReading& bus : reading.buses) print_line(bus);
  print_rest(reading);
  std::cout.flush();  // the monitor's threads may take a while to stop
  return kExitDone;
}

}  // namespace

void add_buses(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "buses", kBusesAbout, list_buses);
  add_users_option(command, options.users);
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace lapwing::cli
