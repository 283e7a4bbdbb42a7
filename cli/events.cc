// lapwing events: lists the events of a bus since its publisher started.
#include <iostream>
#include <string>

#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/option_checks.h"
#include "cli/say.h"
#include "monitor/bus_event.h"
#include "monitor/count_text.h"
#include "monitor/json_text.h"
#include "monitor/status_json.h"
#include "monitor/time_text.h"

namespace lapwing::cli {
namespace {

constexpr char kEventsAbout[] =
    "Show the events of a bus: subscribers that attached, left or lost records, clients that were\n"
    "refused or disconnected, waits of the publisher, and the end of the journal.\n\n"
    "  lapwing events --bus ./es\n"
    "  lapwing events --bus ./es --after 120 --json\n\n"
    "Requires a running publisher, which keeps the last 256 events of its session. If there are\n"
    "more, the oldest of the most frequent kind is dropped, so a client that connects and\n"
    "disconnects all the time does not displace losses. Times are UTC.";

struct EventsOptions {
  std::string bus;
  std::uint64_t after = 0;
  bool json = false;
};

int show_events(const EventsOptions& options) {
  const absl::StatusOr<ControlClient::EventList> list = ask_events(options.bus, options.after);
  if (!list.ok()) return fail(list.status());
  if (options.json) {
    std::cout << json_text(events_json(*list), 2) << '\n';
    return kExitDone;
  }
  for (const EventInfoFrame& event : list->events) {
    std::cout << time_text(event.wall_ns).substr(0, 23) << "Z  " << sentence_of(event) << '\n';
  }
  std::cout << count_text(list->events.size(), "event") << "; the newest is number "
            << list->end.newest << '\n';
  return kExitDone;
}

}  // namespace

void add_events(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "events", kEventsAbout, show_events);
  add_bus_option(command, options.bus);
  command.add_option("--after", options.after, "only events with a higher number")
      ->check(whole_number(0))
      ->type_name("N")
      ->default_str("0");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace lapwing::cli
