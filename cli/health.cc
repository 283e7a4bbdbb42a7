// lapwing health: reports the health of a bus in one line and the exit code.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/open_ring.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/option_checks.h"
#include "cli/say.h"
#include "monitor/bus_monitor.h"
#include "monitor/count_text.h"
#include "monitor/publisher_status.h"
#include "monitor/time_text.h"
#include "monitor/watched_users.h"
#include "os/kernel.h"
#include "snapshot/bus_directory.h"
#include "subscribers/reporter.h"

namespace lapwing::cli {
namespace {

constexpr char kHealthAbout[] =
    "Print one line that shows whether a bus is healthy, for scripts and container probes.\n\n"
    "  lapwing health --bus ./es\n"
    "  lapwing health --bus ./es --expect logger --expect risk --max-lag 100000 --max-delay 1s\n"
    "  lapwing health --bus ./es --ignore-subscribers      the probe of a publisher's container\n\n"
    "A subscriber has a problem if its process is stopped, if it is behind and has not reported\n"
    "for 3 s, or if it is missing. It is missing if it was attached when the last session ended,\n"
    "and has not returned. `lapwing subscribers --forget NAME` removes it from the list.\n\n"
    "The exit code is 1 if a subscriber has a problem, is absent or exceeds a limit. It is 5 if\n"
    "there is no publisher, if its process is stopped or silent for 3 s, or if it does not\n"
    "answer. It is 6 if its journal has failed, or journaling was stopped.";

// A subscriber reports its position within this time after the position has changed.
constexpr std::uint64_t kReportAgeNs = 2 * kReportNsMin;

constexpr std::size_t kNamedMax = 8;  // maximum number of subscribers in the line

struct HealthOptions {
  std::string bus;
  std::vector<std::string> expected;
  bool ignores_subscribers = false;
  std::optional<std::uint64_t> lag_max;
  std::uint64_t delay_max_ns = 0;  // 0: no limit
};

struct Health {
  int exit_code = kExitDone;
  std::string words;
};

bool is_own(const SubscriberStatus& subscriber, uid_t owner) {
  return subscriber.uid == owner || subscriber.uid == 0;
}

// Includes the user name unless the user is the bus's owner or root.
std::string named(const SubscriberStatus& subscriber, uid_t owner) {
  const std::string name =
      subscriber.name.empty() ? "one without a name" : printable(subscriber.name);
  const std::string user =
      is_own(subscriber, owner) ? "" : absl::StrCat(", user ", user_name(subscriber.uid));
  return absl::StrCat(name, " (pid ", subscriber.pid, user, ")");
}

std::optional<Health> ill_journal(const RingStatus& ring) {
  const JournalState state = ring.journal.state;
  if (state != JournalState::kFailed && state != JournalState::kShed) return std::nullopt;
  const std::string what =
      state == JournalState::kFailed
          ? absl::StrCat("the journal has failed (errno ", ring.journal.sys_errno, ")")
          : "journaling was stopped because the disk is too slow";
  return Health{kExitLost, absl::StrCat(what, "; durable stays at ", ring.durable,
                                        ", and the bus continues without a journal")};
}

// Returns a subscriber's problem, regardless of the limits; empty if it has none.
std::string why_ill(const SubscriberStatus& subscriber) {
  if (subscriber.observes) return "";
  const Observed& observed = subscriber.observed;
  if (subscriber.is_missing()) {
    return absl::StrCat(
        "is missing since ", time_text(subscriber.missing_since_wall_ns).substr(0, 19), "Z",
        observed.process == ProcessState::kUnknown
            ? ""
            : absl::StrCat(" (its process ",
                           observed.process == ProcessState::kEnded ? "has " : "is ",
                           name_of(observed.process), ")"));
  }
  if (subscriber.is_stopped()) return "is stopped, by a signal or a debugger";
  if (subscriber.is_silent()) {
    return absl::StrCat("is ", observed.lag, " records behind and has not reported for ",
                        *observed.report_age_ns / kNsPerSecond, " s");
  }
  return "";
}

// Checks --max-lag and --max-delay. `due` is the record that was the newest --max-delay ago.
std::string why_late(const SubscriberStatus& subscriber, const HealthOptions& options,
                     Sequence due) {
  if (subscriber.is_missing()) return "";
  const std::uint64_t lag = subscriber.observed.lag;
  if (options.lag_max && lag > *options.lag_max) return absl::StrCat("is ", lag, " records behind");
  if (options.delay_max_ns == 0 || subscriber.position >= due) return "";
  return absl::StrCat("is at ", subscriber.position, ", and record ", due, " was published ",
                      absl::FormatDuration(absl::Nanoseconds(options.delay_max_ns)), " ago");
}

// All subscribers' problems in one line; nullopt if there are none.
std::optional<Health> ill_subscribers(const std::vector<SubscriberStatus>& subscribers,
                                      const HealthOptions& options, Sequence due, uid_t owner) {
  std::vector<std::string> reasons;
  std::vector<std::string> reasons_of_others;
  for (const SubscriberStatus& one : subscribers) {
    const std::string ill = why_ill(one);
    const std::string why = ill.empty() ? why_late(one, options, due) : ill;
    if (why.empty()) continue;
    (is_own(one, owner) ? reasons : reasons_of_others)
        .push_back(absl::StrCat(named(one, owner), " ", why));
  }
  for (auto given = options.expected.begin(); given != options.expected.end(); ++given) {
    const std::string& name = *given;
    if (std::find(options.expected.begin(), given, name) != given) continue;  // repeated name
    // A missing subscriber is already among the reasons.
    if (std::ranges::find(subscribers, name, &SubscriberStatus::name) != subscribers.end())
      continue;
    reasons.push_back(absl::StrCat(printable(name), " is expected and not attached"));
  }
  // Other users come last: a group member may attach many subscribers with problems.
  std::ranges::move(reasons_of_others, std::back_inserter(reasons));
  if (reasons.empty()) return std::nullopt;
  const std::size_t more = reasons.size() - std::min(reasons.size(), kNamedMax);
  reasons.resize(std::min(reasons.size(), kNamedMax));
  return Health{kExitOther, absl::StrCat(absl::StrJoin(reasons, "; "),
                                         more > 0 ? absl::StrCat("; and ", more, " more") : "")};
}

// The ring of a bus that was not closed may be in another container's /dev/shm.
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
  if (!ring.ok()) return Health{kExitGone, why_no_ring(options.bus, ring.status())};
  const PublisherState state = ring->publisher_state();
  if (state != PublisherState::kRunning) {
    return Health{kExitGone, absl::StrCat("the publisher (pid ", ring->publisher_pid, ") is ",
                                          name_of(state))};
  }
  if (const std::optional<Health> ill = ill_journal(*ring)) return *ill;
  if (options.delay_max_ns > 0) {
    absl::SleepFor(absl::Nanoseconds(options.delay_max_ns + kReportAgeNs));
  }
  const absl::StatusOr<PublisherStatus> publisher = ask_publisher(options.bus);
  if (!publisher.ok()) {
    // The message names the publisher if it is still running.
    return Health{kExitGone, std::string(publisher.status().message())};
  }
  const absl::StatusOr<DirectoryIdentity> directory = directory_identity(options.bus);
  if (!directory.ok()) return directory.status();
  const uid_t owner = directory->owner;
  if (!options.ignores_subscribers) {
    const std::optional<Health> ill =
        ill_subscribers(publisher->subscribers, options, ring->head, owner);
    if (ill) return *ill;
  }
  std::vector<SubscriberStatus> attached = publisher->subscribers;
  std::erase_if(attached, &SubscriberStatus::is_missing);
  const auto last = std::ranges::max_element(
      attached, {}, [](const SubscriberStatus& one) { return one.observed.lag; });
  std::string words = absl::StrCat("running, head ", publisher->head, ", ",
                                   count_text(attached.size(), "subscriber"));
  if (last != attached.end()) {
    absl::StrAppend(&words, ", ", named(*last, owner), " ", last->observed.lag, " behind");
  }
  return Health{kExitDone, words};
}

int show_health(const HealthOptions& options) {
  const absl::StatusOr<Health> health = examine_bus(options);
  if (!health.ok()) return fail(health.status());
  if (health->exit_code == kExitDone) {
    std::cout << "healthy: " << health->words << '\n';
  } else {
    say(LogEntry{LogLevel::kError, "ill", "unhealthy: " + health->words});
  }
  return health->exit_code;
}

// Returns why the name given to --expect is invalid; empty if it is valid.
std::string why_no_name(const std::string& name) {
  return name.empty() ? "the name is empty. Give the name of a subscriber as `lapwing subscribers` "
                        "shows it"
                      : "";
}

}  // namespace

void add_health(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "health", kHealthAbout, show_health);
  add_bus_option(command, options.bus);
  command.add_option("--max-lag", options.lag_max, "records that a subscriber may be behind")
      ->check(whole_number(0))
      ->type_name("RECORDS");
  command
      .add_option("--max-delay", options.delay_max_ns,
                  "how long a record may take until every subscriber has it")
      ->transform(as_duration_ns())
      ->type_name("DURATION");
  command
      .add_option("--expect", options.expected,
                  "name of a subscriber that must be attached; can be given several times")
      ->check(CLI::Validator(why_no_name, ""))
      ->type_name("NAME");
  command
      .add_flag("--ignore-subscribers", options.ignores_subscribers,
                "judge the publisher and its journal only")
      ->excludes("--expect")
      ->excludes("--max-lag")
      ->excludes("--max-delay");
}

}  // namespace lapwing::cli
