// lapwing checkpoint: maintains a fold's state for late joiners.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/bus_records.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/config_file.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/option_checks.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "cli/service_manager.h"
#include "cli/stop_signal.h"
#include "lapwing/checkpointer.h"
#include "monitor/json_text.h"
#include "os/kernel.h"
#include "snapshot/bus_directory.h"

namespace lapwing::cli {
namespace {

constexpr char kCheckpointAbout[] =
    "Keep the state of a bus, so that subscribers can join with --from snapshot.\n\n"
    "  lapwing checkpoint --bus ./es --fold orders\n"
    "  lapwing checkpoint --bus ./es --fold latest --every 1000000 --keep 2\n"
    "  lapwing checkpoint --bus ./es --fold orders --every 5m --prune-journal\n"
    "  lapwing checkpoint --bus ./es --fold orders --until-closed --summary\n\n"
    "Folds: orders (the resting orders of a market-by-order feed), latest (the last record of\n"
    "each instrument or key). The state is kept in DIR/checkpoint/FOLD/state; checkpoints of it\n"
    "are written beside it. A second run continues exactly where the first one ended, even if\n"
    "that was killed. With --prune-journal the publisher removes the journal's files below the\n"
    "oldest checkpoint that is kept. Run it as the owner of the bus directory.";

constexpr std::chrono::milliseconds kTick{100};
constexpr std::uint64_t kBusPollNs = 10'000'000;

struct CheckpointOptions {
  FollowOptions follow;
  std::string fold;
  std::string every = "30s";
  std::uint64_t keep = 3;
  bool prune_journal = false;
};

absl::Status parse_every(const std::string& text, CheckpointerOptions& options) {
  options.every_records = 0;
  options.every = {};
  const std::optional<absl::Duration> time = parse_duration(text);
  if (time && *time > absl::ZeroDuration()) {
    options.every = absl::ToChronoNanoseconds(*time);
    return absl::OkStatus();
  }
  if (absl::SimpleAtoi(text, &options.every_records) && options.every_records > 0) {
    return absl::OkStatus();
  }
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat(
          "--every ", text,
          " is not valid; give a number of records, for example 1000000, or a time: 30s, 5m, 1d"));
}

class CheckpointCommand {
 public:
  explicit CheckpointCommand(const CheckpointOptions& options) : options_(options) {}
  int run();

 private:
  absl::StatusOr<CheckpointerOptions> checkpointer_options();
  absl::StatusOr<BusDescription> await_bus(std::uint64_t reattach_ns) const;
  absl::Status open();
  absl::Status follow();
  int exit_code(const absl::Status& status) const;
  void print_summary() const;

  const CheckpointOptions& options_;
  std::optional<Checkpointer> checkpointer_;
  ServiceWatchdog watchdog_;
  Progress progress_;
};

absl::StatusOr<CheckpointerOptions> CheckpointCommand::checkpointer_options() {
  absl::StatusOr<SubscriberOptions> subscriber =
      to_subscriber_options(options_.follow, absl::StrCat("checkpoint-", options_.fold));
  if (!subscriber.ok()) return subscriber.status();
  CheckpointerOptions options;
  options.subscriber = *std::move(subscriber);
  options.fold = options_.fold;
  options.keep = options_.keep;
  options.prune_journal = options_.prune_journal;
  options.log = [this](const LogEntry& entry) { progress_.say(entry); };
  options.on_event = [this](const Event& event) {
    progress_.clear();
    print_event(event);
  };
  if (absl::Status every = parse_every(options_.every, options); !every.ok()) return every;
  return options;
}

// Waits up to `reattach_ns` for the bus and returns its description.
absl::StatusOr<BusDescription> CheckpointCommand::await_bus(std::uint64_t reattach_ns) const {
  const std::uint64_t began_ns = monotonic_ns();
  for (;;) {
    absl::StatusOr<BusDescription> bus = read_bus_description(options_.follow.bus);
    const bool wait = errc_of(bus.status()) == Errc::kNoBus && !stop_requested() &&
                      monotonic_ns() - began_ns < reattach_ns;
    if (!wait) return bus;
    sleep_unless_stopped(kBusPollNs);
  }
}

absl::Status CheckpointCommand::open() {
  absl::StatusOr<CheckpointerOptions> options = checkpointer_options();
  if (!options.ok()) return options.status();
  const absl::StatusOr<BusDescription> bus = await_bus(ns_of(options->subscriber.reattach));
  if (!bus.ok()) return bus.status();
  if (auto records = checked_records(*bus); !records.ok()) return records.status();
  absl::StatusOr<Checkpointer> opened = Checkpointer::open(*std::move(options));
  if (!opened.ok()) return opened.status();
  checkpointer_.emplace(*std::move(opened));
  if (const std::optional<StoredPosition> at = checkpointer_->committed()) {
    progress_.say({LogLevel::kInfo, "note",
                   absl::StrCat("fold ", options_.fold, " continues after record ", at->sequence)});
  }
  return absl::OkStatus();
}

absl::Status CheckpointCommand::follow() {
  while (!stop_requested()) {
    watchdog_.tick();
    const absl::Status followed = checkpointer_->run(kTick);
    if (!followed.ok()) return followed;
    if (checkpointer_->is_closed() && options_.follow.until_closed) break;
    progress_.show("folded", checkpointer_->counters().records, 0);
  }
  return absl::OkStatus();
}

int CheckpointCommand::exit_code(const absl::Status& status) const {
  if (!status.ok()) return exit_code_for(errc_of(status));
  return checkpointer_->counters().lost > 0 ? kExitLost : kExitDone;
}

void CheckpointCommand::print_summary() const {
  const CheckpointerCounters& counters = checkpointer_->counters();
  const absl::StatusOr<std::uint64_t> digest = checkpointer_->digest();
  const std::optional<StoredPosition> at = checkpointer_->committed();
  const double seconds = std::chrono::duration<double>(counters.last.write_time).count();
  const nlohmann::ordered_json summary = {
      {"records", counters.records},
      {"lost", counters.lost},
      {"batches", counters.commits},
      {"checkpoints", counters.checkpoints},
      {"resets", counters.resets},
      {"as_of", at ? at->sequence : kNoSequence},
      {"last_checkpoint",
       {{"as_of", counters.last.as_of},
        {"entries", counters.last.entries},
        {"bytes", counters.last.bytes},
        {"seconds", seconds}}},
      {"journal_oldest", counters.last.journal_oldest},
      {"digest", digest.ok() ? absl::StrFormat("%016x", *digest) : ""},
  };
  std::cout << json_text(summary) << '\n';
}

int CheckpointCommand::run() {
  catch_stop_signals();
  absl::Status status = open();
  if (!checkpointer_) return fail(status);
  notify_ready(absl::StrCat("folding ", options_.follow.bus, " into ", options_.fold));
  status = follow();
  progress_.clear();
  notify_stopping("writing the state");
  const absl::Status finished = checkpointer_->finish();
  if (status.ok()) status = finished;
  if (options_.follow.summary) print_summary();
  if (!status.ok()) fail(status);
  return exit_code(status);
}

}  // namespace

void add_checkpoint(CLI::App& app, Run& run) {
  const auto [command, options] = add_command<CheckpointOptions>(
      app, run, "checkpoint", kCheckpointAbout,
      [](const CheckpointOptions& given) { return CheckpointCommand(given).run(); });
  options.follow.wait = "park";  // no process waits for a checkpointer
  add_bus_option(command, options.follow.bus);
  command.add_option("--fold", options.fold, "orders or latest")->required()->type_name("FOLD");
  command
      .add_option("--every", options.every,
                  "write a checkpoint after this many records, or this time")
      ->capture_default_str()
      ->type_name("RECORDS|DURATION");
  command.add_option("--keep", options.keep, "number of checkpoints to keep")
      ->capture_default_str()
      ->check(whole_number(1))
      ->type_name("N");
  command.add_flag("--prune-journal", options.prune_journal,
                   "let the publisher remove journal files below the oldest checkpoint");
  add_end_options(command, options.follow);
  add_config_option(command);
}

}  // namespace lapwing::cli
