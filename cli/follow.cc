#include "cli/follow.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/option_checks.h"
#include "cli/say.h"
#include "cli/stop_signal.h"
#include "monitor/json_text.h"
#include "os/deadline.h"
#include "os/kernel.h"
#include "snapshot/bus_directory.h"
#include "snapshot/fold/entry_digest.h"

namespace lapwing::cli {
namespace {

constexpr std::uint64_t kTickNs = 100'000'000;
absl::StatusOr<Start> parse_from(const std::string& from) {
  if (from == "live") return Start::live();
  if (from == "oldest") return Start::oldest();
  if (from == "snapshot") return Start::snapshot();
  absl::string_view rest = from;
  if (absl::ConsumePrefix(&rest, "seq:")) {
    Sequence n = 0;
    if (absl::SimpleAtoi(rest, &n) && n > 0) return Start::sequence(n);
  } else if (absl::ConsumePrefix(&rest, "snapshot:")) {
    if (!rest.empty()) return Start::snapshot(std::string(rest));
  } else if (absl::ConsumePrefix(&rest, "after:")) {
    const absl::StatusOr<StoredPosition> position = StoredPosition::parse(std::string(rest));
    if (position.ok()) return Start::after(*position);
  } else if (absl::ConsumePrefix(&rest, "time:")) {
    absl::Time time;
    std::string error;
    // Times before 1970 have no value in unsigned nanoseconds. They select the oldest record.
    if (absl::ParseTime(absl::RFC3339_full, rest, &time, &error)) {
      return Start::time(
          static_cast<std::uint64_t>(absl::ToUnixNanos(std::max(time, absl::UnixEpoch()))));
    }
  }
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat(from,
                   " is not valid; use live, oldest, seq:N (N from 1), time:RFC3339 (for example "
                   "time:2026-11-20T14:30:00Z), after:POSITION (as `lapwing cursors` shows it), "
                   "snapshot or snapshot:FOLD"));
}

// State of the loop: passes on batches and events, and collects the summary.
class Loop {
 public:
  Loop(RecordSource& source, const FollowOptions& options, const FollowHandlers& handlers)
      : source_(source), options_(options), handlers_(handlers) {
    if (source.is_conflated()) result_.conflated = 0;
  }

  FollowResult run();

 private:
  bool take(const Batch& batch);
  bool take_event(const Event& event);
  bool take_state(const Batch& batch);
  bool take_records(FollowedRecords records);
  bool keep_only_matching(FollowedRecords records);
  bool deliver(const FollowedRecords& records);
  void print_schema_note(const std::string& note);
  bool tick(std::uint64_t now_ns);
  bool check(const absl::Status& status);

  RecordSource& source_;
  const FollowOptions& options_;
  const FollowHandlers& handlers_;
  FollowResult result_;
  EntryDigest digest_;
  std::uint64_t next_tick_ns_ = 0;
  std::string schema_;  // of the records delivered now
  std::shared_ptr<const Schema> description_;
  std::string schema_note_;
  Progress progress_;
};

FollowResult Loop::run() {
  while (!stop_requested()) {
    const std::uint64_t now = monotonic_ns();
    if (!tick(now)) break;
    const std::uint64_t wanted = options_.count == 0 ? kNoMax : options_.count - result_.records;
    const Result<Batch> batch = source_.read(wanted, Deadline::at_monotonic_ns(now + kTickNs));
    if (batch.ok()) {
      if (!take(*batch)) break;
    } else if (!came_to_nothing(batch.error()) && batch != Errc::kInterrupted) {
      result_.status = source_.status();
      break;
    }
  }
  result_.digest = digest_.value();
  result_.counters = source_.subscriber().counters();
  return std::move(result_);
}

bool Loop::take(const Batch& batch) {
  switch (batch.kind) {
    case ItemKind::kEvent:
      return take_event(*batch.event);
    case ItemKind::kState:
      return take_state(batch);
    case ItemKind::kRecord:
      break;
  }
  return take_records({.first = batch.first,
                       .bytes = source_.rows(),
                       .record_bytes = batch.row_bytes,
                       .schema = schema_,
                       .description = description_,
                       .conflated = batch.conflated});
}

bool Loop::take_state(const Batch& batch) {
  if (!handlers_.on_state) return true;
  for (std::size_t i = 0; i < batch.count; ++i) {
    const auto entry = source_.rows().subspan(i * batch.row_bytes, batch.row_bytes);
    if (!check(handlers_.on_state(entry))) return false;
  }
  return true;
}

bool Loop::take_records(FollowedRecords records) {
  if (options_.last != kNoSequence) {
    const std::uint64_t wanted =
        records.first > options_.last ? 0 : options_.last - records.first + 1;
    if (wanted < records.bytes.size() / records.record_bytes) {
      records.bytes = records.bytes.first(wanted * records.record_bytes);
    }
    if (records.bytes.empty()) return false;
  }
  if (handlers_.keep) {
    if (!keep_only_matching(records)) return false;
  } else if (!deliver(records)) {
    return false;
  }
  result_.counted = options_.count != 0 && result_.records >= options_.count;
  if (result_.counted) return false;
  return !(handlers_.done && handlers_.done(nullptr, source_.subscriber().counters().last));
}

bool Loop::keep_only_matching(FollowedRecords records) {
  const std::span<const std::byte> all = records.bytes;
  for (std::size_t at = 0; at < all.size(); at += records.record_bytes, ++records.first) {
    records.bytes = all.subspan(at, records.record_bytes);
    if (handlers_.keep(records.bytes) && !deliver(records)) return false;
    if (options_.count != 0 && result_.records >= options_.count) return true;
  }
  return true;
}

bool Loop::deliver(const FollowedRecords& records) {
  const std::uint64_t count = records.bytes.size() / records.record_bytes;
  if (result_.first == kNoSequence) result_.first = records.first;
  result_.last = records.first + count - 1;
  result_.records += count;
  if (result_.conflated) *result_.conflated += records.conflated;
  digest_.add(records.bytes);
  return !handlers_.on_records || check(handlers_.on_records(records));
}

// Prints the note before the first record to which it applies, and again if a later session has a
// different note.
void Loop::print_schema_note(const std::string& note) {
  if (note == schema_note_) return;
  schema_note_ = note;
  if (!note.empty()) say(LogEntry{LogLevel::kWarning, "schema", note});
}

bool Loop::take_event(const Event& event) {
  progress_.clear();
  if (event.kind == EventKind::kSession || event.kind == EventKind::kReset) {
    schema_ = event.schema_name;
    description_ = event.schema;
    print_schema_note(event.schema_note);
    if (event.kind == EventKind::kSession && !event.text.empty()) {
      say(LogEntry{LogLevel::kWarning, "no-place", event.text});
    }
    result_.closed = false;
  }
  const bool is_one_journal = options_.one_journal || !options_.journal_id.empty();
  if (is_one_journal && event.kind == EventKind::kReset) {
    result_.closed = true;
    return false;
  }
  if (handlers_.on_event && !check(handlers_.on_event(event))) return false;
  if (event.kind == EventKind::kGap && options_.on_gap == "stop") result_.stopped_at_gap = true;
  if (event.kind == EventKind::kClosed) {
    result_.closed = true;
    if (options_.until_closed) return false;
  }
  if (event.kind == EventKind::kSnapshotComplete) result_.state_as_of = event.sequence;
  return !(handlers_.done && handlers_.done(&event, source_.subscriber().counters().last));
}

bool Loop::tick(std::uint64_t now_ns) {
  if (now_ns < next_tick_ns_) return true;
  next_tick_ns_ = now_ns + kTickNs;
  const std::uint64_t entries = source_.subscriber().counters().state;
  if (result_.records == 0 && entries > 0) {
    progress_.show("state:", entries, source_.subscriber().state_size(), "entries");
  } else {
    progress_.show("received", result_.records, options_.count);
  }
  return !handlers_.on_tick || check(handlers_.on_tick());
}

bool Loop::check(const absl::Status& status) {
  if (!status.ok()) result_.status = status;
  return status.ok();
}

LogLevel level_of(const Event& event) {
  switch (event.kind) {
    case EventKind::kGap:
      return event.gap.fillable && event.on_gap == OnGap::kFill ? LogLevel::kInfo
                                                                : LogLevel::kWarning;
    case EventKind::kLost:
      return event.gap.count() > 0 ? LogLevel::kError : LogLevel::kWarning;
    case EventKind::kReset:
    case EventKind::kStale:
    case EventKind::kPublisherGone:
    case EventKind::kNoSnapshot:
    case EventKind::kBehind:
      return LogLevel::kWarning;
    default:
      return LogLevel::kInfo;
  }
}

// One line of text: "gap 101..200 (100 records, lapped), the journal has it".
std::string describe(const Event& event) {
  const Gap& gap = event.gap;
  const std::string range = absl::StrCat(gap.first, "..", gap.last, " (", gap.count(), " records, ",
                                         name_of(gap.cause), ")");
  const std::string because = event.text.empty() ? std::string() : absl::StrCat(": ", event.text);
  switch (event.kind) {
    case EventKind::kGap:
      return absl::StrCat("gap ", range, gap.fillable ? ", the journal has it" : "", because);
    case EventKind::kLost:
      return absl::StrCat("lost ", range, because);
    case EventKind::kSession:
      return absl::StrCat("session continues at ", event.sequence);
    case EventKind::kReset:
      return absl::StrCat("reset at ", event.sequence, because);
    case EventKind::kCaughtUp:
      return absl::StrCat("caught up at ", event.sequence, because);
    case EventKind::kStale:
      return absl::StrCat("stale: no record after ", event.sequence);
    case EventKind::kPublisherGone:
      return absl::StrCat("publisher gone after ", event.sequence, "; waiting for it or a new one");
    case EventKind::kClosed:
      return absl::StrCat("closed cleanly after ", event.sequence);
    case EventKind::kSnapshotComplete:
      return absl::StrCat("snapshot complete at ", event.sequence, because);
    case EventKind::kNoSnapshot:
      return absl::StrCat("no snapshot", because);
    case EventKind::kBehind:
      return absl::StrCat("behind after ", event.sequence, because);
    case EventKind::kLive:
      return absl::StrCat("live after ", event.sequence);
  }
  return {};
}

}  // namespace

void add_follow_options(CLI::App& command, FollowOptions& options) {
  add_bus_option(command, options.bus);
  command
      .add_option("--from", options.from,
                  "where to begin: live (the next record), oldest (the first retained record), "
                  "seq:N, time:RFC3339 (at or shortly before that time), after:POSITION (as "
                  "`lapwing cursors` shows it), or snapshot. A snapshot is the state of the newest "
                  "checkpoint, then the records after it; snapshot:FOLD names the fold")
      ->capture_default_str()
      ->check(parsed_by(parse_from))
      ->transform(renamed("start", "oldest"))
      ->type_name("WHERE");
  command.add_option("--count", options.count, "end after this many records")
      ->check(whole_number(1))
      ->type_name("N");
  add_end_options(command, options);
}

void add_end_options(CLI::App& command, FollowOptions& options) {
  command
      .add_option("--name", options.name,
                  "name of this subscriber in `lapwing subscribers`, `lapwing top` and --expect "
                  "(default: the command)")
      ->type_name("NAME");
  command.add_flag("--until-closed", options.until_closed,
                   "end when the publisher closes its session cleanly");
  command
      .add_option("--reattach", options.reattach_ns,
                  "how long to wait for the bus to appear, or for a publisher to return")
      ->default_str("30s")
      ->transform(as_duration_ns({.zero = true, .word = "forever", .word_ns = kForeverNs}))
      ->type_name("DURATION|forever");
  add_summary_option(command, options.summary);
}

void add_policy_options(CLI::App& command, FollowOptions& options, bool keeps_state) {
  std::string about = "when lapped: fill the gap from the journal, skip it, or stop";
  std::vector<std::string> policies = names_in(kOnGapNames);
  if (keeps_state) {
    about +=
        "; snapshot: continue with the newest checkpoint, if there is one in the gap or after it";
  } else {
    std::erase(policies, name_of(OnGap::kSnapshot));
  }
  command.add_option("--on-gap", options.on_gap, about)
      ->capture_default_str()
      ->check(CLI::IsMember(policies));
  add_wait_option(command, options.wait, "records");
  command
      .add_option("--measure", options.measure,
                  "measure the age of one record in N where it is delivered, for `lapwing "
                  "subscribers --json` and `lapwing top`; only of records that have a time of "
                  "publishing (DBN: use publish --restamp)")
      ->check(whole_number(1, std::numeric_limits<std::uint32_t>::max()))
      ->type_name("N");
}

void add_journal_option(CLI::App& command, FollowOptions& options) {
  command
      .add_option("--journal-id", options.journal_id,
                  "only the records of this journal, by its id in `lapwing info` (default: all "
                  "journals, from the first record; if a sequence is given, the newest journal)")
      ->type_name("ID");
}

namespace {

// Sets the journal to start in, if the options name one.
absl::Status choose_journal(const FollowOptions& options, Start& start) {
  const bool reads_history = start.kind == Start::Kind::kOldest ||
                             start.kind == Start::Kind::kSequence ||
                             start.kind == Start::Kind::kTime;
  if (!options.journal_id.empty()) {
    start.journal = Id128::from_hex(options.journal_id);
    if (!start.journal) {
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("--journal-id `", options.journal_id,
                                     "` is not a journal id, which has 32 hexadecimal digits. "
                                     "`lapwing info` lists the journals"));
    }
    if (reads_history) return absl::OkStatus();
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("--journal-id and --from ", options.from,
                     " do not go together. Use --from oldest, seq:N or time:RFC3339 with "
                     "--journal-id"));
  }
  if (!options.one_journal || start.kind != Start::Kind::kOldest) return absl::OkStatus();
  const absl::StatusOr<BusDescription> bus = read_bus_description(options.bus);
  if (bus.ok() && !bus->journal_root.empty()) start.journal = bus->journal_id;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SubscriberOptions> to_subscriber_options(const FollowOptions& options,
                                                        const std::string& name) {
  absl::StatusOr<Start> start = parse_from(options.from);
  if (!start.ok()) return start.status();
  if (absl::Status chosen = choose_journal(options, *start); !chosen.ok()) return chosen;
  SubscriberOptions subscriber;
  subscriber.directory = options.bus;
  subscriber.name = options.name.empty() ? name : options.name;
  subscriber.start = *start;
  subscriber.on_gap = value_in(kOnGapNames, options.on_gap);
  subscriber.wait = parse_wait(options.wait);
  subscriber.reattach = std::chrono::nanoseconds(options.reattach_ns);
  subscriber.measure_every = options.measure;
  return subscriber;
}

bool is_for_a_person(const FollowOptions& options) {
  return options.name.empty() && ::isatty(STDOUT_FILENO) == 1;
}

absl::StatusOr<RecordSource> open_source(const FollowOptions& options, const std::string& name,
                                         const std::function<void(SubscriberOptions&)>& choose) {
  absl::StatusOr<SubscriberOptions> chosen = to_subscriber_options(options, name);
  if (!chosen.ok()) return chosen.status();
  if (choose) choose(*chosen);
  absl::StatusOr<Subscriber> subscriber = Subscriber::open(*std::move(chosen));
  if (!subscriber.ok()) return subscriber.status();
  return RecordSource(*std::move(subscriber));
}

FollowResult follow(RecordSource& source, const FollowOptions& options,
                    const FollowHandlers& handlers) {
  return Loop(source, options, handlers).run();
}

int FollowResult::exit_code(bool until_closed) const {
  if (stopped_at_gap) return kExitStoppedAtGap;
  if (!status.ok()) return exit_code_for(errc_of(status));
  if (until_closed && !closed && !counted && !stop_requested()) return kExitGone;
  return counters.lost > 0 ? kExitLost : kExitDone;
}

nlohmann::ordered_json latency_json(const FineHistogram& latency) {
  return {{"p50", latency.percentile(0.5)},
          {"p99", latency.percentile(0.99)},
          {"p999", latency.percentile(0.999)},
          {"max", latency.max()}};
}

namespace {

// Ages that were not measured are null, not 0.
void add_latencies(const Latencies& latencies, nlohmann::ordered_json& summary) {
  summary["latency_ns"] = nullptr;
  if (latencies.age_ns.count() > 0) summary["latency_ns"] = latency_json(latencies.age_ns);
  if (latencies.negative == 0 && latencies.unstamped == 0) return;
  summary["not_measured"] = {{"negative", latencies.negative}, {"unstamped", latencies.unstamped}};
}

}  // namespace

void print_summary(const FollowResult& result, const Latencies* latencies) {
  const SubscriberCounters& counters = result.counters;
  nlohmann::ordered_json summary = {
      {"records", result.records},
      {"first", result.first},
      {"last", result.last},
      {"gaps", counters.gaps},
      {"lost", counters.lost},
      {"filled", counters.filled},
      {"in_state", counters.in_state},
      {"duplicates", counters.duplicates},
      {"out_of_order", counters.out_of_order},
      {"sessions", counters.sessions},
      {"reattached", counters.reattached},
  };
  if (result.state_as_of != kNoSequence) {
    summary["state"] = counters.state;
    summary["state_as_of"] = result.state_as_of;
  }
  if (result.conflated) summary["conflated"] = *result.conflated;
  if (latencies != nullptr) add_latencies(*latencies, summary);
  summary["digest"] = absl::StrFormat("%016x", result.digest);
  std::cout << json_text(summary) << '\n';
}

void print_event(const Event& event) {
  if (event.is_first_session) return;
  LogEntry entry{level_of(event), name_of(event.kind), describe(event)};
  if (event.kind == EventKind::kGap || event.kind == EventKind::kLost) {
    entry.fields = {{"first", event.gap.first},
                    {"last", event.gap.last},
                    {"count", event.gap.count()},
                    {"cause", name_of(event.gap.cause)}};
  } else if (event.sequence != kNoSequence) {
    entry.fields = {{"sequence", event.sequence}};
  }
  say(entry);
}

}  // namespace lapwing::cli
