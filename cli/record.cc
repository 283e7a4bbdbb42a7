// lapwing record: writes the records of a bus to a DBN or record file, and resumes after a crash.
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/option_checks.h"
#include "cli/other_feed.h"
#include "cli/say.h"
#include "cli/service_manager.h"
#include "cli/stop_signal.h"
#include "lapwing/error.h"
#include "lapwing/recording.h"
#include "os/kernel.h"
#include "subscribers/recorder/rotation.h"

namespace lapwing::cli {
namespace {

constexpr char kRecordAbout[] =
    "Record a bus into a file, raw or zstd by its name.\n\n"
    "  lapwing record --bus ./es --from oldest --out es.dbn.zst --until-closed\n"
    "  lapwing record --bus ./es --from live --out es.dbn\n"
    "  lapwing record --bus ./es --from snapshot --out es.dbn.zst\n"
    "  lapwing record --bus ./es --out es.dbn.zst --rotate-every 1h --rotate-bytes 1G\n"
    "  lapwing record --bus ./es --out es.dbn.zst --rotate-at 17:00 --time-zone America/Chicago\n"
    "  lapwing record --bus ./es --out es.dbn.zst --rotate-every week --rotate-at 'Sun 17:00'\n"
    "  lapwing record --bus ./kv --from oldest --out kv.records --until-closed\n\n"
    "Records of DBN become DBN files. All others become record files, which begin with the\n"
    "description of their records; `lapwing publish --source file:FILE` publishes them again.\n"
    "Call them *.records or *.records.zst. With such a name, DBN's records also become record\n"
    "files.\n\n"
    "A signal ends the file cleanly. A second run with the same --out continues exactly where\n"
    "the first one ended, even if that was killed: FILE.position beside the file contains the\n"
    "position. If the history of that position is gone (a power cut, another journal), a reset is\n"
    "reported. FILE.lock prevents two recorders of one file. If the file is missing, or was cut\n"
    "or replaced, the recorder refuses to continue (exit code 4).\n\n"
    "A bus that carries other records than the recording holds (another schema, size or\n"
    "description) is refused: record it into another file.\n\n"
    "With --from snapshot a new recording begins with the state, and continues with the records\n"
    "after it. Orders are recorded as a venue's own snapshot is (a clear, then the orders as\n"
    "adds, flagged SNAPSHOT), the latest records as they are. A recording that is interrupted\n"
    "before the state is complete begins again.\n\n"
    "With --rotate-bytes, --rotate-every or --rotate-at the recording is a series of files, each\n"
    "complete by itself. Their names have a number and the time of the first record in UTC, for\n"
    "example es.000001.20261120T143000Z.dbn.zst. That time is ts_recv, or the time that the\n"
    "records' description names. It also determines the period of a record. The periods of a\n"
    "duration begin at its multiples in UTC (an hour on the hour). A day, week or month begins at\n"
    "--rotate-at (default: midnight) in --time-zone (default: UTC). A week begins on Monday, or\n"
    "on the day in --rotate-at; a month begins on its first day. A venue's event is not split. A\n"
    "second run may give other limits; they apply from then on. Finished files may be moved away;\n"
    "move the last one only after the recorder has ended.";

constexpr std::uint64_t kCommitNs = 500'000'000;

struct RecordOptions {
  FollowOptions follow;
  std::string out;
  std::uint64_t rotate_bytes = 0;
  std::string rotate_every;  // a duration, or day, week or month
  std::string rotate_at;     // HH:MM, optionally after a day of the week
  std::string time_zone;
};

const std::map<std::string, Rotation::Calendar> kCalendars = {
    {"day", Rotation::Calendar::kDay},
    {"week", Rotation::Calendar::kWeek},
    {"month", Rotation::Calendar::kMonth}};
constexpr std::array<absl::string_view, 7> kWeekdays = {"Sun", "Mon", "Tue", "Wed",
                                                        "Thu", "Fri", "Sat"};

CLI::Validator calendar_or_duration() {
  const auto check = [](const std::string& text) -> std::string {
    const std::optional<absl::Duration> duration = parse_duration(text);
    if (kCalendars.contains(text) || (duration && *duration > absl::ZeroDuration())) return {};
    return absl::StrCat(text,
                        " is not a period; use a duration such as 10s, 5m, 1h or 1d, or day, week "
                        "or month");
  };
  return CLI::Validator(check, "");
}

// Parses "17:00" or "Sun 17:00". Returns false if the text is neither.
bool parse_rotate_at(absl::string_view text, Rotation& rotation, bool& has_weekday) {
  has_weekday = false;
  for (std::size_t i = 0; i < kWeekdays.size(); ++i) {
    if (!absl::ConsumePrefix(&text, absl::StrCat(kWeekdays[i], " "))) continue;
    rotation.week_begin = std::chrono::weekday(static_cast<unsigned>(i));
    has_weekday = true;
    break;
  }
  const auto is_digit = [&](std::size_t at) {
    return absl::ascii_isdigit(static_cast<unsigned char>(text[at]));
  };
  if (text.size() != 5 || text[2] != ':') return false;
  if (!is_digit(0) || !is_digit(1) || !is_digit(3) || !is_digit(4)) return false;
  const int hours = (text[0] - '0') * 10 + (text[1] - '0');
  const int minutes = (text[3] - '0') * 10 + (text[4] - '0');
  rotation.at = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return hours < 24 && minutes < 60;
}

// Error: kInvalidArgument; the message names the option.
absl::StatusOr<Rotation> rotation_of(const RecordOptions& options) {
  Rotation rotation{.bytes = options.rotate_bytes};
  bool has_weekday = false;
  if (!options.rotate_at.empty()) {
    if (!parse_rotate_at(options.rotate_at, rotation, has_weekday)) {
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("--rotate-at ", options.rotate_at,
                                     " is not a time of day. Use HH:MM from 00:00 to 23:59, with "
                                     "--rotate-every week also DAY HH:MM (",
                                     absl::StrJoin(kWeekdays, ", "), ")."));
    }
    rotation.calendar = has_weekday ? Rotation::Calendar::kWeek : Rotation::Calendar::kDay;
  }
  if (const auto named = kCalendars.find(options.rotate_every); named != kCalendars.end()) {
    rotation.calendar = named->second;
  } else if (!options.rotate_every.empty()) {
    if (!options.rotate_at.empty() || !options.time_zone.empty()) {
      return make_error(
          Errc::kInvalidArgument,
          absl::StrCat(options.rotate_at.empty() ? "--time-zone" : "--rotate-at",
                       " and --rotate-every ", options.rotate_every,
                       " do not go together: the periods of a duration begin in UTC. Use "
                       "--rotate-every day, week or month."));
    }
    rotation.every = absl::ToChronoNanoseconds(*parse_duration(options.rotate_every));
  }
  if (has_weekday && rotation.calendar != Rotation::Calendar::kWeek) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("--rotate-at ", options.rotate_at,
                     " has a day of the week, and --rotate-every is ", options.rotate_every,
                     ". Use --rotate-every week, or HH:MM alone."));
  }
  if (options.time_zone.empty()) return rotation;
  if (rotation.calendar == Rotation::Calendar::kNone) {
    return make_error(Errc::kInvalidArgument,
                      "--time-zone needs a rotation by days, weeks or months. Use --rotate-at, or "
                      "--rotate-every day, week or month.");
  }
  rotation.time_zone = options.time_zone;
  const absl::Status loaded = load_time_zone(rotation.time_zone).status();
  if (loaded.ok()) return rotation;
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("--time-zone: ", absl::string_view(loaded.message())));
}

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
  std::uint64_t foreign_sessions_ = 0;
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
    absl::Status appended = recording_.append(RecordBatch::of(subscriber, records.bytes));
    const std::uint64_t foreign = recording_.counters().foreign_sessions;
    if (std::exchange(foreign_sessions_, foreign) != foreign) say(other_feed(options_.out));
    return appended;
  };
  handlers.on_state = [&](std::span<const std::byte> entry) {
    return recording_.append_state(*subscriber.fold(), entry);
  };
  handlers.on_event = [&](const Event& event) {
    print_event(event);
    if (event.is_first_session) {
      notify_ready(absl::StrCat("recording ", options_.follow.bus, " into ", options_.out));
    }
    if (event.kind != EventKind::kSnapshotComplete) return absl::OkStatus();
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
  absl::StatusOr<Rotation> rotation = rotation_of(options);
  if (!rotation.ok()) return fail(rotation.status());
  absl::StatusOr<Recording> recording = Recording::open(
      {.path = options.out, .directory = options.follow.bus, .rotation = *std::move(rotation)});
  if (!recording.ok()) return fail(recording.status());
  return Record(options, *std::move(recording)).run();
}

}  // namespace

void add_record(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "record", kRecordAbout, record);
  add_follow_options(command, options.follow);
  add_policy_options(command, options.follow);
  command.add_option("--out", options.out, "the file; zstd if its name ends in .zst")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--rotate-bytes", options.rotate_bytes,
                  "begin another file after this many bytes (64K, 100M, 1G, …)")
      ->transform(size_in_bytes(kRotateBytesMin))
      ->type_name("BYTES");
  command
      .add_option("--rotate-every", options.rotate_every,
                  "begin another file for each period: a duration (10s, 5m, 1h, …), day, week or "
                  "month")
      ->check(calendar_or_duration())
      ->type_name("PERIOD");
  command
      .add_option("--rotate-at", options.rotate_at,
                  "time at which a day, week or month begins, such as 17:00, or 'Sun 17:00' for a "
                  "week (default: 00:00, and Monday for a week). Without --rotate-every: each day, "
                  "or each week if it has a day")
      ->check(not_empty())
      ->type_name("TIME");
  command
      .add_option("--time-zone", options.time_zone,
                  "time zone of days, weeks and months, such as America/Chicago (default: UTC)")
      ->check(not_empty())
      ->type_name("ZONE");
  add_config_option(command);
}

}  // namespace lapwing::cli
