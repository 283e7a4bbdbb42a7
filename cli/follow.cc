#include "cli/follow.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/exit_codes.h"
#include "cli/number_option.h"
#include "cli/say.h"
#include "cli/stop_signal.h"
#include "cli/wait_option.h"
#include "os/kernel.h"

namespace lapwing::cli {
namespace {

constexpr std::uint64_t kTickNs = 100'000'000;
constexpr std::size_t kBatchRecords = 1024;

absl::StatusOr<Start> parse_from(const std::string& from) {
  if (from == "live") return Start::live();
  if (from == "start") return Start::oldest();
  if (from == "snapshot") return Start::snapshot();
  absl::string_view rest = from;
  if (absl::ConsumePrefix(&rest, "seq:")) {
    Sequence n = 0;
    if (absl::SimpleAtoi(rest, &n) && n > 0) return Start::at(n);
  } else if (absl::ConsumePrefix(&rest, "snapshot:")) {
    if (!rest.empty()) return Start::snapshot(std::string(rest));
  } else if (absl::ConsumePrefix(&rest, "time:")) {
    absl::Time time;
    std::string error;
    // Before 1970 there is no time in nanoseconds; whatever is kept is younger than that.
    if (absl::ParseTime(absl::RFC3339_full, rest, &time, &error)) {
      return Start::time(
          static_cast<std::uint64_t>(absl::ToUnixNanos(std::max(time, absl::UnixEpoch()))));
    }
  }
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat("--from ", from,
                   " is not valid; use live, start, seq:N (N from 1), time:RFC3339 (for example "
                   "time:2026-11-20T14:30:00Z), snapshot or snapshot:FOLD"));
}

OnGap parse_on_gap(const std::string& text) {
  if (text == "skip") return OnGap::kSkip;
  return text == "stop" ? OnGap::kStop : OnGap::kFill;
}

// For ever if it is longer than a clock goes.
std::uint64_t to_ns(double seconds) {
  const double ns = seconds * 1e9;
  constexpr auto kForever = std::numeric_limits<std::uint64_t>::max();
  return ns < static_cast<double>(kForever) ? static_cast<std::uint64_t>(ns) : kForever;
}

// The loop's state: hands batches and events on, and keeps what the summary needs.
class Follower {
 public:
  Follower(Subscriber& subscriber, const FollowOptions& options, const FollowHandlers& handlers)
      : subscriber_(subscriber), options_(options), handlers_(handlers), sum_(XXH3_createState()) {
    XXH3_64bits_reset(sum_.get());
    if (handlers.conflated != nullptr) result_.conflated = 0;
  }

  FollowResult run();

 private:
  Item next(std::uint64_t deadline_ns);
  bool take_batch();
  bool take_event(const Item& item);
  bool take_records(Sequence first, std::span<const std::byte> records);
  bool keep_only_matching(Sequence first, std::span<const std::byte> records);
  bool deliver(Sequence first, std::span<const std::byte> records);
  void tell_schema_note();
  bool tick(std::uint64_t now_ns);
  bool check(const absl::Status& status);
  // Of what waited in a conflated reader the subscriber may have seen the end already.
  std::size_t stride(std::span<const std::byte> records) const {
    return handlers_.conflated == nullptr ? subscriber_.record_bytes() : records.size();
  }
  std::uint64_t room() const {
    return options_.count == 0
               ? kBatchRecords
               : std::min<std::uint64_t>(kBatchRecords, options_.count - result_.records);
  }

  struct FreeSum {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  Subscriber& subscriber_;
  const FollowOptions& options_;
  const FollowHandlers& handlers_;
  FollowResult result_;
  std::vector<std::byte> batch_;
  std::unique_ptr<XXH3_state_t, FreeSum> sum_;
  std::uint64_t next_tick_ns_ = 0;
  std::string schema_note_;  // that was told
  Progress progress_;
};

FollowResult Follower::run() {
  while (!stop_requested()) {
    const std::uint64_t now = monotonic_ns();
    if (!tick(now)) break;
    const Item item = next(now + kTickNs);
    if (subscriber_.schema_note() != schema_note_) tell_schema_note();
    if (item.kind == ItemKind::kRecord && handlers_.conflated != nullptr) {
      if (!take_records(item.sequence, handlers_.conflated->record())) break;
    } else if (item.kind == ItemKind::kRecord) {
      if (!take_records(item.sequence, subscriber_.record())) break;
      if (!take_batch()) break;
    } else if (item.kind == ItemKind::kState) {
      if (handlers_.on_state && !check(handlers_.on_state(item, subscriber_))) break;
    } else if (item.kind != ItemKind::kNothing && !take_event(item)) {
      break;
    }
  }
  result_.digest = XXH3_64bits_digest(sum_.get());
  result_.counters = subscriber_.counters();
  return std::move(result_);
}

// Before the first record that it is about, and again where another session says another thing.
void Follower::tell_schema_note() {
  schema_note_ = subscriber_.schema_note();
  if (schema_note_.empty()) return;
  progress_.clear();
  std::cerr << "lapwing: " << schema_note_ << '\n';
}

Item Follower::next(std::uint64_t deadline_ns) {
  if (handlers_.conflated == nullptr) return subscriber_.wait(deadline_ns);
  return handlers_.conflated->wait(deadline_ns);
}

// Whatever follows the record that wait() found, without waiting again.
bool Follower::take_batch() {
  const std::size_t record_bytes = subscriber_.record_bytes();
  batch_.resize(kBatchRecords * record_bytes);
  while (!stop_requested()) {
    const std::span<std::byte> out(batch_.data(), room() * record_bytes);
    const std::size_t count = subscriber_.poll_batch(out);
    if (count == 0) return true;
    const Sequence first = subscriber_.counters().last - count + 1;
    if (!take_records(first, out.first(count * record_bytes))) return false;
    if (!tick(monotonic_ns())) return false;
  }
  return true;
}

bool Follower::take_records(Sequence first, std::span<const std::byte> records) {
  if (options_.last != kNoSequence) {
    const std::uint64_t wanted = first > options_.last ? 0 : options_.last - first + 1;
    if (wanted < records.size() / stride(records)) {
      records = records.first(wanted * stride(records));
    }
    if (records.empty()) return false;
  }
  if (handlers_.keep) {
    if (!keep_only_matching(first, records)) return false;
  } else if (!deliver(first, records)) {
    return false;
  }
  result_.counted = options_.count != 0 && result_.records >= options_.count;
  if (result_.counted) return false;
  return !(handlers_.done && handlers_.done(Item{}, subscriber_.counters().last));
}

bool Follower::keep_only_matching(Sequence first, std::span<const std::byte> records) {
  const std::size_t record_bytes = stride(records);
  for (std::size_t at = 0; at < records.size(); at += record_bytes, ++first) {
    const std::span<const std::byte> record = records.subspan(at, record_bytes);
    if (handlers_.keep(record) && !deliver(first, record)) return false;
    if (options_.count != 0 && result_.records >= options_.count) return true;
  }
  return true;
}

bool Follower::deliver(Sequence first, std::span<const std::byte> records) {
  const std::uint64_t count = records.size() / stride(records);
  if (result_.first == kNoSequence) result_.first = first;
  result_.last = first + count - 1;
  result_.records += count;
  if (result_.conflated) *result_.conflated += handlers_.conflated->conflated();
  XXH3_64bits_update(sum_.get(), records.data(), records.size());
  return !handlers_.on_records || check(handlers_.on_records(first, records));
}

bool Follower::take_event(const Item& item) {
  progress_.clear();
  if (handlers_.on_event && !check(handlers_.on_event(item, subscriber_))) return false;
  if (item.kind == ItemKind::kGap && options_.on_gap == "stop") result_.stopped_at_gap = true;
  if (item.kind == ItemKind::kClosed) {
    result_.closed = true;
    if (options_.until_closed) return false;
  }
  if (item.kind == ItemKind::kSnapshotComplete) result_.state_as_of = item.sequence;
  if (item.kind == ItemKind::kSession || item.kind == ItemKind::kReset) result_.closed = false;
  if (item.kind == ItemKind::kEnded) {
    result_.status =
        handlers_.conflated == nullptr ? subscriber_.status() : handlers_.conflated->status();
    return false;
  }
  return !(handlers_.done && handlers_.done(item, subscriber_.counters().last));
}

bool Follower::tick(std::uint64_t now_ns) {
  if (now_ns < next_tick_ns_) return true;
  next_tick_ns_ = now_ns + kTickNs;
  const std::uint64_t entries = subscriber_.counters().state;
  if (result_.records == 0 && entries > 0) {
    progress_.show("state:", entries, subscriber_.state_size(), "entries");
  } else {
    progress_.show("received", result_.records, options_.count);
  }
  return !handlers_.on_tick || check(handlers_.on_tick());
}

bool Follower::check(const absl::Status& status) {
  if (!status.ok()) result_.status = status;
  return status.ok();
}

nlohmann::ordered_json latency_json(const Histogram& latency) {
  return {{"p50", latency.percentile(0.5)},
          {"p99", latency.percentile(0.99)},
          {"p999", latency.percentile(0.999)},
          {"max", latency.max()}};
}

// One line for a person: "gap 101..200 (100 records, lapped), the journal has it".
std::string describe(const Item& item, const Subscriber& subscriber) {
  const Gap& gap = item.gap;
  const std::string range = absl::StrCat(gap.first, "..", gap.last, " (", gap.count(), " records, ",
                                         name_of(gap.cause), ")");
  const std::string because =
      subscriber.text().empty() ? std::string() : absl::StrCat(": ", subscriber.text());
  switch (item.kind) {
    case ItemKind::kGap:
      return absl::StrCat("gap ", range, gap.fillable ? ", the journal has it" : "", because);
    case ItemKind::kLost:
      return absl::StrCat("lost ", range, because);
    case ItemKind::kSession:
      return absl::StrCat("session continues at ", item.sequence);
    case ItemKind::kReset:
      return absl::StrCat("reset at ", item.sequence, because);
    case ItemKind::kCaughtUp:
      return absl::StrCat("caught up at ", item.sequence, because);
    case ItemKind::kStale:
      return absl::StrCat("stale: no record after ", item.sequence);
    case ItemKind::kPublisherGone:
      return absl::StrCat("publisher gone after ", item.sequence, "; waiting for it or a new one");
    case ItemKind::kClosed:
      return absl::StrCat("closed cleanly after ", item.sequence);
    case ItemKind::kEnded:
      return absl::StrCat("ended", because);
    case ItemKind::kSnapshotComplete:
      return absl::StrCat("snapshot complete at ", item.sequence, because);
    case ItemKind::kNoSnapshot:
      return absl::StrCat("no snapshot", because);
    case ItemKind::kNothing:
    case ItemKind::kRecord:
    case ItemKind::kState:
      break;
  }
  return {};
}

}  // namespace

void add_bus_option(CLI::App& command, std::string& bus) {
  command.add_option("--bus", bus, "directory of the bus")->required()->type_name("DIR");
}

void add_follow_options(CLI::App& command, FollowOptions& options) {
  add_bus_option(command, options.bus);
  command
      .add_option("--from", options.from,
                  "where to begin: live (the next record), start (the oldest retained record), "
                  "seq:N, time:RFC3339 (at or shortly before that time), or snapshot (the state of "
                  "the newest checkpoint, then the records after it; snapshot:FOLD names the fold)")
      ->capture_default_str()
      ->type_name("WHERE");
  command.add_option("--count", options.count, "end after this many records")
      ->check(whole_number(1))
      ->type_name("N");
  add_end_options(command, options);
}

void add_end_options(CLI::App& command, FollowOptions& options) {
  command.add_flag("--until-closed", options.until_closed,
                   "end when the publisher closes its session cleanly");
  command
      .add_option("--reattach", options.reattach_seconds,
                  "seconds to wait for the bus to appear, or for a publisher to return")
      ->capture_default_str()
      ->check(number_up_to(std::numeric_limits<double>::infinity()))
      ->type_name("SECONDS");
  command.add_flag("--summary", options.summary,
                   "print one line of JSON on standard output at the end");
}

void add_policy_options(CLI::App& command, FollowOptions& options) {
  command
      .add_option("--on-gap", options.on_gap,
                  "when lapped: fill the gap from the journal, skip it, or stop")
      ->capture_default_str()
      ->check(CLI::IsMember({"fill", "skip", "stop"}));
  add_wait_option(command, options.wait, "records");
}

absl::StatusOr<SubscriberOptions> to_subscriber_options(const FollowOptions& options,
                                                        const std::string& name) {
  absl::StatusOr<Start> start = parse_from(options.from);
  if (!start.ok()) return start.status();
  SubscriberOptions subscriber;
  subscriber.directory = options.bus;
  subscriber.name = name;
  subscriber.start = *start;
  subscriber.on_gap = parse_on_gap(options.on_gap);
  subscriber.wait = parse_wait(options.wait);
  subscriber.reattach_ns = to_ns(options.reattach_seconds);
  return subscriber;
}

FollowResult follow(Subscriber& subscriber, const FollowOptions& options,
                    const FollowHandlers& handlers) {
  return Follower(subscriber, options, handlers).run();
}

int FollowResult::exit_code(bool until_closed) const {
  if (stopped_at_gap) return kExitStoppedAtGap;
  // A bus that did not come within --reattach has no publisher either.
  if (errc_of(status) == Errc::kNoBus) return kExitPublisherGone;
  if (!status.ok()) return exit_code_for(errc_of(status));
  if (until_closed && !closed && !counted && !stop_requested()) return kExitPublisherGone;
  return counters.lost > 0 ? kExitLost : kExitDone;
}

void print_summary(const FollowResult& result, const Histogram* latency) {
  const SubscriberCounters& counters = result.counters;
  nlohmann::ordered_json summary = {
      {"records", result.records},
      {"first", result.first},
      {"last", result.last},
      {"gaps", counters.gaps},
      {"lost", counters.lost},
      {"filled", counters.filled},
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
  if (latency != nullptr) summary["latency_ns"] = latency_json(*latency);
  summary["digest"] = absl::StrFormat("%016x", result.digest);
  std::cout << json_text(summary) << '\n';
}

void print_event(const Item& item, const Subscriber& subscriber) {
  if (item.kind == ItemKind::kEnded && !subscriber.status().ok()) return;
  say(describe(item, subscriber));
}

}  // namespace lapwing::cli
