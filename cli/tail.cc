// lapwing tail: follows a bus and prints its records and events.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/option_checks.h"
#include "cli/say.h"
#include "cli/standard_streams.h"
#include "cli/stop_signal.h"
#include "lapwing/conflation.h"
#include "lapwing/fold.h"
#include "monitor/json_text.h"
#include "monitor/view/record_format.h"
#include "os/kernel.h"
#include "subscribers/instrument_filter.h"

namespace lapwing::cli {
namespace {

constexpr char kTailAbout[] =
    "Follow a bus and show its records.\n\n"
    "  lapwing tail --bus ./es                           from now on, as text\n"
    "  lapwing tail --bus ./es --from oldest --count 10  the ten oldest\n"
    "  lapwing tail --bus ./es --from time:2026-11-20T14:30:00Z --format json\n"
    "  lapwing tail --bus ./es --instrument ESH4 --on-gap stop\n"
    "  lapwing tail --bus ./es --from snapshot           the resting orders, then the changes\n"
    "  lapwing tail --bus ./es --conflate 250ms          at most four a second of each key\n"
    "  lapwing tail --bus ./es --from oldest --until-closed --format none --summary\n\n"
    "Records go to standard output, events (gaps, sessions, losses) to standard error; with\n"
    "--format json both go to standard output. --format csv begins with a header. Records are\n"
    "shown by their description, every field by its name (docs/reference/records.md).\n\n"
    "With --from snapshot the state comes first. It is marked: `state` before the line,\n"
    "\"state\": true in JSON, 1 in the last column of CSV. Its sequence is the order's\n"
    "place (0 if the fold has none). --count, and the summary's records and digest, cover\n"
    "only the records after the state.\n\n"
    "With --conflate only the newest record of each key in each interval is shown. The key is\n"
    "in the records' description: of DBN the instrument, for market by order the instrument and\n"
    "its side. A line ends with the number of older records it replaces (+12; in JSON and CSV\n"
    "\"conflated\"). An event ends the interval early. --count counts lines.";

struct TailOptions {
  FollowOptions follow;
  std::string instrument;
  std::string format = "text";
  bool latency = false;
  std::uint64_t conflate_ns = 0;  // 0: every record
};

nlohmann::ordered_json event_json(const Event& event) {
  nlohmann::ordered_json line = {{"event", name_of(event.kind)}};
  if (event.sequence != kNoSequence) line["seq"] = event.sequence;
  if (event.kind == EventKind::kGap || event.kind == EventKind::kLost) {
    line["first"] = event.gap.first;
    line["last"] = event.gap.last;
    line["cause"] = name_of(event.gap.cause);
    line["resume"] = event.gap.resume;
    line["fillable"] = event.gap.fillable;
  }
  if (!event.text.empty()) line["text"] = event.text;
  return line;
}

class Tail {
 public:
  explicit Tail(const TailOptions& options)
      : options_(options),
        output_(parse_format(options.format)),
        conflated_(options.conflate_ns != 0),
        has_state_(options.follow.from.starts_with("snapshot")) {}

  int run();

 private:
  absl::StatusOr<RecordSource> open();
  void set_format(const std::shared_ptr<const Schema>& description);
  absl::Status show_records(const FollowedRecords& records);
  absl::Status show_state(std::span<const std::byte> entry, const Subscriber& subscriber);
  void show_record(Sequence n, std::span<const std::byte> record, std::uint64_t conflated);
  void show_row(const RecordFormat& format, Sequence n, std::span<const std::byte> record,
                std::uint64_t conflated, bool is_state);
  absl::Status show_event(const Event& event) const;
  void measure(std::span<const std::byte> record, std::uint64_t now_wall_ns);

  const TailOptions& options_;
  OutputFormat output_;
  RecordFormat format_;
  std::shared_ptr<const Schema> description_;  // of format_
  bool has_header_ = false;                    // the CSV header of format_ has been printed
  std::optional<InstrumentFilter> filter_;
  bool conflated_ = false;
  bool has_state_ = false;
  Latencies latencies_;
};

// Sets the records' description; the bus may carry different records after a reset.
void Tail::set_format(const std::shared_ptr<const Schema>& description) {
  if (description == description_) return;
  description_ = description;
  format_ = RecordFormat(description_);
  has_header_ = false;
}

void Tail::measure(std::span<const std::byte> record, std::uint64_t now_wall_ns) {
  const std::optional<std::uint64_t> sent = format_.latency_time_ns(record);
  if (sent) latencies_.add(*sent, now_wall_ns);
}

absl::Status Tail::show_records(const FollowedRecords& records) {
  if (output_ == OutputFormat::kNone && !options_.latency) return absl::OkStatus();
  set_format(records.description);
  const std::uint64_t now = options_.latency ? wall_ns() : 0;
  Sequence next = records.first;
  for (std::size_t at = 0; at < records.bytes.size(); at += records.record_bytes) {
    const std::span<const std::byte> record = records.bytes.subspan(at, records.record_bytes);
    if (options_.latency) measure(record, now);
    show_record(next++, record, records.conflated);
  }
  return output_ == OutputFormat::kNone ? absl::OkStatus() : flush_output();
}

// Shows the entry as a record if it begins with a record of the schema.
absl::Status Tail::show_state(std::span<const std::byte> entry, const Subscriber& subscriber) {
  const FoldShape& shape = subscriber.fold()->shape();
  if (filter_ && !filter_->matches_entry(shape, entry)) return absl::OkStatus();
  const std::uint32_t leading = shape.entry_record_bytes;
  const bool is_record = leading == subscriber.record_bytes();
  const Sequence place = subscriber.fold()->place_of(entry);
  if (is_record) entry = entry.first(leading);
  if (is_record) set_format(subscriber.schema());
  const RecordFormat as_bytes;
  const RecordFormat& shown = is_record ? format_ : as_bytes;
  if (output_ == OutputFormat::kText) std::cout << "state " << shown.text(place, entry) << '\n';
  if (output_ == OutputFormat::kJson) {
    nlohmann::ordered_json line = shown.json(place, entry);
    line["state"] = true;
    std::cout << json_text(line) << '\n';
  }
  if (output_ == OutputFormat::kCsv) show_row(shown, place, entry, 0, true);
  return std::cout ? absl::OkStatus() : flush_output();
}

// Prints a header before records of a new schema. Columns that are not fields come last.
void Tail::show_row(const RecordFormat& format, Sequence n, std::span<const std::byte> record,
                    std::uint64_t conflated, bool is_state) {
  if (!std::exchange(has_header_, true)) {
    std::cout << format.csv_header() << (conflated_ ? ",conflated" : "")
              << (has_state_ ? ",state" : "") << '\n';
  }
  std::cout << format.csv(n, record);
  if (conflated_) std::cout << ',' << conflated;
  if (has_state_) std::cout << ',' << (is_state ? 1 : 0);
  std::cout << '\n';
}

void Tail::show_record(Sequence n, std::span<const std::byte> record, std::uint64_t conflated) {
  if (output_ == OutputFormat::kText) {
    std::cout << format_.text(n, record);
    if (conflated > 0) std::cout << "  +" << conflated;
    std::cout << '\n';
  } else if (output_ == OutputFormat::kJson) {
    nlohmann::ordered_json line = format_.json(n, record);
    if (conflated_) line["conflated"] = conflated;
    std::cout << json_text(line) << '\n';
  } else if (output_ == OutputFormat::kCsv) {
    show_row(format_, n, record, conflated, false);
  }
}

absl::Status Tail::show_event(const Event& event) const {
  if (event.is_first_session) return absl::OkStatus();
  if (output_ == OutputFormat::kJson) {
    std::cout << json_text(event_json(event)) << '\n';
    return flush_output();
  }
  print_event(event);
  return absl::OkStatus();
}

absl::StatusOr<RecordSource> Tail::open() {
  const auto choose = [&](SubscriberOptions& options) {
    options.observes = is_for_a_person(options_.follow);
  };
  if (!conflated_) return open_source(options_.follow, "tail", choose);
  absl::StatusOr<SubscriberOptions> options = to_subscriber_options(options_.follow, "tail");
  if (!options.ok()) return options.status();
  choose(*options);
  absl::StatusOr<ConflatedReader> reader = ConflatedReader::open(
      *std::move(options), {.interval = std::chrono::nanoseconds(options_.conflate_ns)});
  if (!reader.ok()) return reader.status();
  return RecordSource(*std::move(reader));
}

int Tail::run() {
  absl::StatusOr<RecordSource> source = open();
  if (!source.ok()) return fail(source.status());
  FollowHandlers handlers;
  if (!options_.instrument.empty()) filter_.emplace(std::vector{options_.instrument}, kInstrument);
  if (filter_) {
    handlers.keep = [&](std::span<const std::byte> record) { return filter_->matches(record); };
  }
  handlers.on_records = [&](const FollowedRecords& records) { return show_records(records); };
  handlers.on_state = [&](std::span<const std::byte> entry) {
    return show_state(entry, source->subscriber());
  };
  handlers.on_event = [&](const Event& event) {
    const bool begins = event.kind == EventKind::kSession || event.kind == EventKind::kReset;
    if (!filter_ || !begins) return show_event(event);
    const absl::Status chosen =
        filter_->begin(options_.follow.bus, event.schema.get(), event.session_id);
    return chosen.ok() ? show_event(event) : chosen;
  };
  catch_stop_signals();
  const FollowResult result = follow(*source, options_.follow, handlers);
  if (options_.follow.summary) print_summary(result, options_.latency ? &latencies_ : nullptr);
  if (!result.status.ok()) fail(result.status);
  return result.exit_code(options_.follow.until_closed);
}

}  // namespace

void add_tail(CLI::App& app, Run& run) {
  const auto [command, options] = add_command<TailOptions>(
      app, run, "tail", kTailAbout, [](const TailOptions& given) { return Tail(given).run(); });
  add_follow_options(command, options.follow);
  add_journal_option(command, options.follow);
  add_policy_options(command, options.follow);
  add_instrument_option(command, options.instrument);
  command.add_flag(
      "--latency", options.latency,
      "measure the time from the records' time of publishing, or else from their own, to "
      "delivery (DBN: use publish --restamp); --summary has it as latency_ns");
  command
      .add_option(
          "--conflate", options.conflate_ns,
          "show only the newest record of each key in each interval, and how many it replaces")
      ->transform(as_duration_ns())
      ->type_name("DURATION");
  add_format_option(command, options.format);
}

}  // namespace lapwing::cli
