// lapwing subscribers: lists a bus's subscribers with their positions and losses.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/say.h"
#include "lapwing/error.h"
#include "monitor/count_text.h"
#include "monitor/json_text.h"
#include "monitor/publisher_status.h"
#include "monitor/status_json.h"
#include "os/kernel.h"

namespace lapwing::cli {
namespace {

constexpr char kSubscribersAbout[] =
    "Show a bus's subscribers, how far each one is behind, and the records that it lost.\n\n"
    "  lapwing subscribers --bus ./es\n"
    "  lapwing subscribers --bus ./es --json\n"
    "  lapwing subscribers --bus ./es --forget old-logger\n\n"
    "Requires a running publisher. Each line is the subscriber's last report. Its lag is as of\n"
    "that report. If no report follows, the lag grows as records are published.\n\n"
    "State `missing`: the subscriber was attached when the last session ended and has not\n"
    "returned. It is listed until it returns or --forget removes it. STOPPED: its process is\n"
    "stopped, by a signal or a debugger. SILENT: it is behind and has not reported for 3 s.";

struct SubscribersOptions {
  std::string bus;
  bool json = false;
  std::vector<std::string> forgotten;
  bool forgets_all = false;
};

void print_table(const PublisherStatus& publisher) {
  std::cout << absl::StrFormat("%8s %6s  %-16s %-8s %14s %10s %8s %8s %8s\n", "pid", "uid", "name",
                               "state", "position", "lag", "gaps", "lost", "filled");
  for (const SubscriberStatus& subscriber : publisher.subscribers) {
    const std::string lag = subscriber.is_missing() ? "-" : absl::StrCat(subscriber.observed.lag);
    std::cout << absl::StrFormat("%8d %6d  %-16s %-8s %14d %10s %8d %8d %8d\n", subscriber.pid,
                                 subscriber.uid, printable(subscriber.name),
                                 subscriber.state_text(), subscriber.position, lag, subscriber.gaps,
                                 subscriber.lost, subscriber.filled);
  }
  const auto missing = std::ranges::count_if(publisher.subscribers, &SubscriberStatus::is_missing);
  std::cout << publisher.subscribers.size() - static_cast<std::size_t>(missing) << " attached; ";
  if (missing > 0) std::cout << missing << " missing; ";
  std::cout << publisher.clients_refused << " refused and " << publisher.clients_dropped
            << " disconnected so far\n";
}

// Forgets each name, and reports those that could not be forgotten. Naming a subscriber that is not
// missing is an error, so typos are noticed.
int forget_subscribers(const SubscribersOptions& options) {
  const std::uint64_t deadline_ns = monotonic_ns() + kPublisherAnswerNs;
  absl::StatusOr<ControlClient> client = connect_to_publisher(options.bus, "lapwing", deadline_ns);
  if (!client.ok()) return fail(client.status());
  if (options.forgets_all) {
    const absl::StatusOr<std::uint64_t> forgotten = client->forget_all(deadline_ns);
    if (!forgotten.ok()) return fail(forgotten.status());
    std::cout << "removed " << count_text(*forgotten, "missing subscriber") << '\n';
  }
  int code = kExitDone;
  for (const std::string& name : options.forgotten) {
    const absl::StatusOr<std::uint64_t> forgotten = client->forget(name, deadline_ns);
    if (!forgotten.ok()) {
      code = fail(make_error(errc_of(forgotten.status()),
                             absl::StrCat("--forget ", name, ": ", forgotten.status().message())));
    } else if (*forgotten == 0) {
      code = fail(make_error(Errc::kNotFound,
                             absl::StrCat("--forget ", name,
                                          ": no missing subscriber has that name. Run `lapwing "
                                          "subscribers --bus ",
                                          options.bus, "` to list missing subscribers.")));
    } else {
      std::cout << "removed " << count_text(*forgotten, "missing subscriber") << " named "
                << printable(name) << '\n';
    }
  }
  return code;
}

int show_subscribers(const SubscribersOptions& options) {
  if (options.forgets_all || !options.forgotten.empty()) return forget_subscribers(options);
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
  const auto [command, options] =
      add_command(app, run, "subscribers", kSubscribersAbout, show_subscribers);
  add_bus_option(command, options.bus);
  command.add_flag("--json", options.json, "print JSON");
  command
      .add_option("--forget", options.forgotten,
                  "remove a missing subscriber from the list; can be given several times")
      ->type_name("NAME")
      ->excludes("--json");
  command.add_flag("--forget-all", options.forgets_all, "remove all missing subscribers")
      ->excludes("--forget")
      ->excludes("--json");
}

}  // namespace lapwing::cli
