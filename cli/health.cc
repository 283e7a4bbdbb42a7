// lapwing health: whether a bus is well, in one line and an exit code.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/duration_option.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/number_option.h"
#include "cli/say.h"
#include "monitor/bus_status.h"
#include "monitor/count_text.h"
#include "monitor/publisher_state.h"
#include "snapshot/bus_directory.h"
#include "subscribers/reporter.h"

namespace lapwing::cli {
namespace {

constexpr char kAbout[] =
    "Say in one line whether a bus is well, for scripts and container probes.\n\n"
    "  lapwing health --bus ./es\n"
    "  lapwing health --bus ./es --max-lag 100000 --max-delay 1s\n\n"
    "--max-lag: the records by which a subscriber may be behind. --max-delay: how long it may "
    "take\n"
    "until every subscriber has a record; the command takes that long to find out.\n"
    "Exit codes: 0 it is well; 1 a limit is exceeded, or another error; 2 wrong usage; 4 damaged\n"
    "data; 5 there is no publisher, or it has been silent for 3 s; 6 its journal has failed.";

// A subscriber reports its position at most so long after it has changed.
constexpr std::uint64_t kReportAgeNs = 2 * kReportNsMin;

constexpr int kExitJournalFailed = 6;

struct HealthOptions {
  std::string bus;
  std::optional<std::uint64_t> lag_max;
  std::uint64_t delay_max_ns = 0;  // 0: no limit
};

struct Health {
  int exit_code = kExitDone;
  std::string words;
};

const SubscriberStatus* furthest_behind(const std::vector<SubscriberStatus>& subscribers) {
  const auto found = std::max_element(
      subscribers.begin(), subscribers.end(),
      [](const SubscriberStatus& a, const SubscriberStatus& b) { return a.lag < b.lag; });
  return found == subscribers.end() ? nullptr : &*found;
}

std::string named(const SubscriberStatus& subscriber) {
  return absl::StrCat(printable(subscriber.name), " (pid ", subscriber.pid, ")");
}

std::optional<Health> ill_journal(const RingStatus& ring) {
  const JournalState state = ring.journal.state;
  if (state != JournalState::kFailed && state != JournalState::kShed) return std::nullopt;
  return Health{
      kExitJournalFailed,
      absl::StrCat("the journal has ", state == JournalState::kFailed ? "failed" : "been given up",
                   " (errno ", ring.journal.sys_errno, "); durable stays ", ring.durable,
                   ", the bus goes on live")};
}

// Whether every subscriber has, by now, the record that was newest that long ago.
std::optional<Health> too_late(const std::vector<SubscriberStatus>& subscribers, Sequence due,
                               std::uint64_t delay_ns) {
  for (const SubscriberStatus& subscriber : subscribers) {
    if (subscriber.position >= due) continue;
    return Health{
        kExitOther,
        absl::StrCat(named(subscriber), " is at ", subscriber.position, ", and record ", due,
                     " was published ", absl::FormatDuration(absl::Nanoseconds(delay_ns)), " ago")};
  }
  return std::nullopt;
}

// The ring of a bus that was not closed may be in the /dev/shm of another container.
std::string why_no_ring(const std::string& directory, const absl::Status& why) {
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory);
  if (bus.ok() && bus->closed) return "no publisher: the bus is closed";
  return absl::StrCat("the ring cannot be read: ", why.message(),
                      ". If the publisher runs in a container, run this with the container's "
                      "/dev/shm; if it was killed, start it again.");
}

absl::StatusOr<Health> examine_bus(const HealthOptions& options) {
  absl::StatusOr<RingStatus> ring = read_ring_status(options.bus);
  if (!ring.ok() && errc_of(ring.status()) != Errc::kNotFound) return ring.status();
  if (!ring.ok()) return Health{kExitPublisherGone, why_no_ring(options.bus, ring.status())};
  const PublisherState state = state_of_publisher(*ring);
  if (state != PublisherState::kRunning) {
    return Health{kExitPublisherGone, absl::StrCat("the publisher (pid ", ring->publisher_pid,
                                                   ") is ", name_of(state))};
  }
  if (const std::optional<Health> ill = ill_journal(*ring)) return *ill;
  if (options.delay_max_ns > 0) {
    absl::SleepFor(absl::Nanoseconds(options.delay_max_ns + kReportAgeNs));
  }
  const absl::StatusOr<PublisherStatus> publisher = ask_publisher(options.bus);
  if (!publisher.ok()) {
    return Health{kExitPublisherGone,
                  absl::StrCat("the publisher does not answer: ", publisher.status().message())};
  }
  const SubscriberStatus* const last = furthest_behind(publisher->subscribers);
  if (last != nullptr && options.lag_max && last->lag > *options.lag_max) {
    return Health{kExitOther, absl::StrCat(named(*last), " is ", last->lag, " records behind")};
  }
  if (options.delay_max_ns > 0) {
    const std::optional<Health> late =
        too_late(publisher->subscribers, ring->head, options.delay_max_ns);
    if (late) return *late;
  }
  std::string words = absl::StrCat("running, head ", publisher->head, ", ",
                                   count_text(publisher->subscribers.size(), "subscriber"));
  if (last != nullptr) absl::StrAppend(&words, ", ", named(*last), " ", last->lag, " behind");
  return Health{kExitDone, words};
}

int show_health(const HealthOptions& options) {
  const absl::StatusOr<Health> health = examine_bus(options);
  if (!health.ok()) {
    const int code = fail(health.status());
    return errc_of(health.status()) == Errc::kNoBus ? kExitPublisherGone : code;
  }
  if (health->exit_code == kExitDone) {
    std::cout << "well: " << health->words << '\n';
  } else {
    say(LogEntry{LogLevel::kError, "ill", "ill: " + health->words});
  }
  return health->exit_code;
}

}  // namespace

void add_health(CLI::App& app, Run& run) {
  auto options = std::make_shared<HealthOptions>();
  CLI::App& command = add_command(app, "health", kAbout);
  add_bus_option(command, options->bus);
  command.add_option("--max-lag", options->lag_max, "records that a subscriber may be behind")
      ->check(whole_number(0))
      ->type_name("RECORDS");
  command
      .add_option("--max-delay", options->delay_max_ns,
                  "how long a record may take until every subscriber has it")
      ->transform(as_duration_ns())
      ->type_name("DURATION");
  command.callback([options, &run] { run = [options] { return show_health(*options); }; });
}

}  // namespace lapwing::cli
