// lapwing top: shows the buses on this machine and their subscribers, updated continuously.
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/not_shown.h"
#include "cli/option_checks.h"
#include "cli/say.h"
#include "cli/standard_streams.h"
#include "cli/stop_signal.h"
#include "cli/top/controls.h"
#include "cli/top/terminal.h"
#include "cli/top/views.h"
#include "monitor/json_text.h"
#include "monitor/machine_monitor.h"
#include "monitor/status_json.h"
#include "monitor/time_text.h"
#include "os/kernel.h"

namespace lapwing::cli {
namespace {

constexpr char kTopAbout[] =
    "Watch the buses of this machine, and the subscribers that are behind or lost records.\n\n"
    "  lapwing top\n"
    "  lapwing top --user 1000               also the buses of user 1000\n"
    "  lapwing top --bus ./es --once         one reading, without a terminal\n"
    "  lapwing top --json --interval 500ms   a line of JSON twice a second\n\n"
    "Keys: 1 buses, 2 subscribers, 3 channels, 4 checkpoints, 5 events; arrows and Enter choose\n"
    "a bus, Esc goes back; s sort, r reverse, / filter, p pause, + - interval, ? help, q quit.\n\n"
    "Lag: the records by which a subscriber is behind. Delay: how long ago the next record that\n"
    "it must read was published; `>` means longer, because it was behind before `top` started.\n"
    "STOPPED: its process is stopped by a signal or a debugger. SILENT: it is behind and has not\n"
    "reported for 3 s. MISSING: it was attached when the last session ended and has not returned.\n"
    "Buses: as `lapwing buses`.";

constexpr std::size_t kAllColumns = 10'000;

struct TopOptions {
  std::vector<std::string> buses;
  std::vector<std::string> users;
  std::uint64_t interval_ns = 1'000'000'000;
  bool once = false;
  bool json = false;
};

absl::StatusOr<MachineMonitor> start_monitor(const TopOptions& options) {
  absl::StatusOr<WatchedUsers> users = parse_watched_users(options.users);
  if (!users.ok()) return users.status();
  return MachineMonitor::start({.directories = options.buses, .users = *std::move(users)});
}

// Samples until the given time, or until a stop is requested.
void sample_until(MachineMonitor& monitor, std::uint64_t until_ns) {
  for (std::uint64_t now = monotonic_ns(); now < until_ns && !stop_requested();
       now = monotonic_ns()) {
    monitor.sample(now);
    sleep_unless_stopped(std::min(kSampleNs, until_ns - now));
  }
}

void print_table(const Table& table) {
  const Table::Lines lines = table.lines(kAllColumns);
  std::cout << lines.heading << '\n';
  for (const std::string& row : lines.rows) std::cout << row << '\n';
}

void print_reading(const MachineReading& reading) {
  print_table(bus_table(reading, {}, /*in_ascii=*/true));
  std::cout << '\n';
  print_table(subscriber_table(reading));
  const Table channels = channel_table(gather_channel_status());
  if (!channels.rows().empty()) {
    std::cout << '\n';
    print_table(channels);
  }
  if (const Table checkpoints = checkpoint_table(reading); !checkpoints.rows().empty()) {
    std::cout << '\n';
    print_table(checkpoints);
  }
  if (const std::string rest = not_shown_text(reading.left_out); !rest.empty())
    std::cout << rest << '\n';
}

// True if the bus's directory has been removed since the bus was found.
bool is_removed(const BusReading& bus) {
  std::error_code error;
  return errc_of(bus.ring.status()) == Errc::kNoBus &&
         !std::filesystem::exists(bus.directory, error) && !error;
}

// Prints why buses could not be read. Other users' buses and removed buses are errors only if they
// were named.
int say_what_is_missing(const TopOptions& options, const MachineReading& reading) {
  int code = kExitDone;
  for (const BusReading& bus : reading.buses) {
    if (options.buses.empty() && (!is_trusted_user(bus.uid) || is_removed(bus))) continue;
    if (bus.is_unanswered()) code = fail(bus.publisher.status());
    if (bus.ring.ok() || bus.is_closed()) continue;
    code = fail(bus.ring.status());
  }
  return code;
}

int read_once(const TopOptions& options) {
  absl::StatusOr<MachineMonitor> monitor = start_monitor(options);
  if (!monitor.ok()) return fail(monitor.status());
  sample_until(*monitor, monotonic_ns() + options.interval_ns);
  const MachineReading reading = monitor->read(monotonic_ns(), wall_ns());
  if (options.json) {
    std::cout << json_text(machine_json(reading, gather_channel_status())) << '\n';
  } else {
    print_reading(reading);
  }
  return say_what_is_missing(options, reading);
}

int print_lines(const TopOptions& options) {
  absl::StatusOr<MachineMonitor> monitor = start_monitor(options);
  if (!monitor.ok()) return fail(monitor.status());
  for (std::uint64_t due = monotonic_ns() + options.interval_ns; !stop_requested();
       due = std::max(due + options.interval_ns, monotonic_ns())) {
    sample_until(*monitor, due);
    if (stop_requested()) break;
    const MachineReading reading = monitor->read(monotonic_ns(), wall_ns());
    std::cout << json_text(machine_json(reading, gather_channel_status())) << '\n';
    if (const absl::Status written = flush_output(); !written.ok()) return fail(written);
  }
  return kExitDone;
}

class Watch {
 public:
  Watch(const TopOptions& options, MachineMonitor monitor, TopTerminal terminal)
      : monitor_(std::move(monitor)),
        controls_(options.interval_ns),
        terminal_(std::move(terminal)) {}

  int run() {
    std::uint64_t due = monotonic_ns();
    while (!controls_.has_ended() && !stop_requested()) {
      const std::uint64_t now = monotonic_ns();
      monitor_.sample(now);
      if (now >= due && !controls_.is_paused()) {
        read(now);
        due = now + controls_.interval_ns();
      }
      const Table table = shown();
      terminal_.draw(table, controls_, title(table), note());
      const View before = controls_.view();
      terminal_.take_key(kSampleNs, controls_, table);
      due = controls_.view() == before ? std::min(due, now + controls_.interval_ns()) : now;
    }
    return kExitDone;
  }

 private:
  void read(std::uint64_t now_ns) {
    reading_ = monitor_.read(now_ns, wall_ns());
    for (const BusReading& bus : reading_.buses) {
      std::deque<double>& trail = trails_[bus.directory];
      trail.push_back(bus.rate);
      if (trail.size() > kTrailMax) trail.pop_front();
    }
    if (controls_.view() == View::kChannels) channels_ = gather_channel_status();
  }

  Table shown() {
    Table table = made();
    controls_.arrange(table);
    return table;
  }
  Table made() {
    switch (controls_.view()) {
      case View::kBuses:
        break;
      case View::kSubscribers:
        return subscriber_table(reading_, controls_.bus());
      case View::kChannels:
        return channel_table(channels_);
      case View::kCheckpoints:
        return checkpoint_table(reading_);
      case View::kEvents:
        return event_table(reading_);
    }
    return bus_table(reading_, trails_, !terminal_.has_unicode());
  }

  std::string title(const Table& table) const {
    std::string text = absl::StrCat(name_of(controls_.view()), " ", table.rows().size());
    if (!controls_.bus().empty()) absl::StrAppend(&text, " of ", printable(controls_.bus()));
    if (controls_.is_paused()) absl::StrAppend(&text, "  PAUSED");
    if (!controls_.filter().empty()) absl::StrAppend(&text, "  with ", controls_.filter());
    if (const std::string by = controls_.sorting(table); !by.empty()) {
      absl::StrAppend(&text, "  by ", by);
    }
    absl::StrAppendFormat(&text, "  every %gs  %s",
                          static_cast<double>(controls_.interval_ns()) / 1e9,
                          time_text(reading_.wall_ns).substr(11, 8));
    return text;
  }

  std::string note() const {
    const std::string keys =
        "1 buses 2 subscribers 3 channels 4 checkpoints 5 events  ? help  q quit";
    const std::string rest = not_shown_text(reading_.left_out);
    return rest.empty() ? keys : keys + "  " + rest;
  }

  MachineMonitor monitor_;
  MachineReading reading_;
  RateTrails trails_;
  absl::StatusOr<ChannelList> channels_ = ChannelList();
  Controls controls_;
  TopTerminal terminal_;
};

int watch(const TopOptions& options) {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
    return fail_usage("top needs a terminal; --once and --json need none");
  }
  absl::StatusOr<MachineMonitor> monitor = start_monitor(options);
  if (!monitor.ok()) return fail(monitor.status());
  absl::StatusOr<TopTerminal> terminal = TopTerminal::open();
  if (!terminal.ok()) return fail(terminal.status());
  return Watch(options, *std::move(monitor), *std::move(terminal)).run();
}

int run_top(const TopOptions& options) {
  catch_stop_signals();
  if (options.once) return read_once(options);
  return options.json ? print_lines(options) : watch(options);
}

}  // namespace

void add_top(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "top", kTopAbout, run_top);
  add_buses_options(command, options.buses, options.users);
  add_interval_option(command, options.interval_ns);
  command.add_flag("--once", options.once, "print one reading, after one interval");
  command.add_flag("--json", options.json, "print JSON, a line for each reading");
}

}  // namespace lapwing::cli
