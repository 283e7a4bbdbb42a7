// lapwing record: write what a bus carries into a DBN or record file, and go on with it after a
// crash.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/duration_option.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/number_option.h"
#include "cli/say.h"
#include "cli/service_manager.h"
#include "cli/stop_signal.h"
#include "lapwing/recording.h"
#include "os/kernel.h"

namespace lapwing::cli {
namespace {

constexpr char kAbout[] =
    "Record a bus into a file, raw or zstd by its name.\n\n"
    "  lapwing record --bus ./es --from start --out es.dbn.zst --until-closed\n"
    "  lapwing record --bus ./es --from live --out es.dbn\n"
    "  lapwing record --bus ./es --from snapshot --out es.dbn.zst\n"
    "  lapwing record --bus ./es --out es.dbn.zst --rotate-every 1h --rotate-bytes 1G\n"
    "  lapwing record --bus ./kv --from start --out kv.records --until-closed\n\n"
    "Records of DBN become DBN files. All others become record files, which begin with the\n"
    "description of their records; `lapwing publish --source file:FILE` publishes them again.\n"
    "Call them *.records or *.records.zst; such a name makes a record file of DBN's records,\n"
    "too.\n\n"
    "A signal ends the file cleanly. A second run with the same --out continues exactly where\n"
    "the first one ended, even if that was killed: FILE.position beside the file has the\n"
    "position. If the history of that position is gone (a power cut, another journal), a reset\n"
    "is reported. FILE.lock prevents two recorders of one file. If the file is missing, or was\n"
    "cut or replaced by another one, the recorder refuses to continue it (exit code 4).\n\n"
    "A bus that carries other records than the recording holds (another schema, size or\n"
    "description) is refused: record it into another file.\n\n"
    "With --from snapshot a new recording begins with the state, and continues with the records\n"
    "after it. Orders are recorded as a venue's own snapshot is (a clear, then the orders as\n"
    "adds, flagged SNAPSHOT), the latest records as they are. A recording that is interrupted\n"
    "before the state is complete begins again.\n\n"
    "With --rotate-bytes or --rotate-every the recording is a series of files, each complete by\n"
    "itself: es.000001.20261120T143000Z.dbn.zst, es.000002.…, with a number and the time of the\n"
    "first record (ts_recv, or as the records are described). Periods begin at full multiples of\n"
    "the duration in UTC, by that time: an hour on the hour, a day at midnight. A venue's event\n"
    "is not split. A second run may give other limits; they apply from then on. Finished files\n"
    "may be moved away, the last one when the recorder has ended.";

constexpr std::uint64_t kCommitNs = 500'000'000;

struct RecordOptions {
  FollowOptions follow;
  std::string out;
  std::uint64_t rotate_bytes = 0;
  std::uint64_t rotate_every_ns = 0;
};

class Record {
 public:
  Record(const RecordOptions& options, Recording recording)
      : options_(options), recording_(std::move(recording)) {}
  int run();

 private:
  absl::Status tick();

  const RecordOptions& options_;
  Recording recording_;
  ServiceWatchdog watchdog_;
  std::uint64_t next_commit_ns_ = 0;
};

absl::Status Record::tick() {
  watchdog_.tick();
  const std::uint64_t now = monotonic_ns();
  if (now < next_commit_ns_) return absl::OkStatus();
  next_commit_ns_ = now + kCommitNs;
  return recording_.commit();
}

int Record::run() {
  absl::StatusOr<RecordSource> source =
      open_source(options_.follow, "record", [&](SubscriberOptions& subscriber) {
        const std::optional<StoredPosition> stored = recording_.position();
        if (!stored) return;
        subscriber.start = Start::after(*stored);
        say(absl::StrCat(options_.out, " continues after record ", stored->sequence));
      });
  if (!source.ok()) return fail(source.status());
  const Subscriber& subscriber = source->subscriber();
  FollowHandlers handlers;
  handlers.on_records = [&](const FollowedRecords& records) {
    return recording_.append(RecordBatch::of(subscriber, records.bytes));
  };
  handlers.on_state = [&](std::span<const std::byte> entry) {
    return recording_.append_state(*subscriber.fold(), entry);
  };
  handlers.on_event = [&](const Event& event) {
    print_event(event);
    if (event.is_first_session) {
      notify_ready(absl::StrCat("recording ", options_.follow.bus, " into ", options_.out));
    }
    if (event.kind != ItemKind::kSnapshotComplete) return absl::OkStatus();
    return recording_.end_state(RecordBatch::of(subscriber));
  };
  handlers.on_tick = [&] { return tick(); };
  catch_stop_signals();
  FollowResult result = follow(*source, options_.follow, handlers);
  notify_stopping("finishing the file");
  const absl::Status finished = recording_.finish(RecordBatch::of(subscriber));
  if (result.status.ok()) result.status = finished;
  if (options_.follow.summary) print_summary(result, nullptr);
  if (!result.status.ok()) fail(result.status);
  return result.exit_code(options_.follow.until_closed);
}

int record(const RecordOptions& options) {
  absl::StatusOr<Recording> recording = Recording::open(
      {.path = options.out,
       .directory = options.follow.bus,
       .rotation = {options.rotate_bytes, std::chrono::nanoseconds(options.rotate_every_ns)}});
  if (!recording.ok()) return fail(recording.status());
  return Record(options, *std::move(recording)).run();
}

}  // namespace

void add_record(CLI::App& app, Run& run) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App& command = add_command(app, "record", kAbout);
  add_follow_options(command, options->follow);
  add_policy_options(command, options->follow);
  command.add_option("--out", options->out, "the file; zstd if its name ends in .zst")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--rotate-bytes", options->rotate_bytes,
                  "begin another file after this many bytes (64K, 100M, 1G, …)")
      ->transform(size_in_bytes(kRotateBytesMin))
      ->type_name("BYTES");
  command
      .add_option("--rotate-every", options->rotate_every_ns,
                  "begin another file at each period of the clock (10s, 5m, 1h, 1d, …)")
      ->transform(as_duration_ns())
      ->type_name("DURATION");
  add_config_option(command);
  command.callback([options, &run] { run = [options] { return record(*options); }; });
}

}  // namespace lapwing::cli
