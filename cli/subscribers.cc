// lapwing subscribers: who is attached, where they are, what they missed.
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/say.h"
#include "monitor/bus_status.h"
#include "monitor/json_text.h"
#include "monitor/status_json.h"

namespace lapwing::cli {
namespace {

constexpr char kAbout[] =
    "Show a bus's subscribers, how far behind each one is, and what it lost.\n\n"
    "  lapwing subscribers --bus ./es\n"
    "  lapwing subscribers --bus ./es --json\n\n"
    "The publisher has to run, since it is asked. Each line is what the subscriber last reported;\n"
    "its lag is what it was then, and grows again where no report comes while records do.";

struct SubscribersOptions {
  std::string bus;
  bool json = false;
};

void print_table(const PublisherStatus& publisher) {
  std::cout << absl::StrFormat("%8s %6s  %-16s %-8s %14s %10s %8s %8s %8s\n", "pid", "uid", "name",
                               "state", "position", "lag", "gaps", "lost", "filled");
  for (const SubscriberStatus& subscriber : publisher.subscribers) {
    std::cout << absl::StrFormat("%8d %6d  %-16s %-8s %14d %10d %8d %8d %8d\n", subscriber.pid,
                                 subscriber.uid, printable(subscriber.name),
                                 name_of(subscriber.state), subscriber.position, subscriber.lag,
                                 subscriber.gaps, subscriber.lost, subscriber.filled);
  }
  std::cout << publisher.subscribers.size() << " attached; " << publisher.clients_refused
            << " refused and " << publisher.clients_dropped << " disconnected so far\n";
}

int show_subscribers(const SubscribersOptions& options) {
  const absl::StatusOr<PublisherStatus> publisher = ask_publisher(options.bus);
  if (!publisher.ok()) return fail(publisher.status());
  if (options.json) {
    std::cout << json_text(publisher_json(*publisher), 2) << '\n';
  } else {
    print_table(*publisher);
  }
  return kExitDone;
}

}  // namespace

void add_subscribers(CLI::App& app, Run& run) {
  auto options = std::make_shared<SubscribersOptions>();
  CLI::App& command = add_command(app, "subscribers", kAbout);
  add_bus_option(command, options->bus);
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &run] { run = [options] { return show_subscribers(*options); }; });
}

}  // namespace lapwing::cli
