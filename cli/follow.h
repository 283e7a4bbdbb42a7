// Shared by the commands that follow a bus: options, loop, summary and exit code. `tail`, `record`
// and `export` differ only in what they do with a record.
//
// Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/progress.h"
#include "lapwing/ages.h"
#include "lapwing/histogram.h"
#include "lapwing/subscriber.h"
#include "subscribers/conflation/record_source.h"

namespace lapwing::cli {

struct FollowOptions {
  std::string bus;
  std::string name;  // empty: the command's name
  // live | oldest | seq:N | time:RFC3339 | after:POSITION | snapshot[:FOLD]
  std::string from = "live";
  std::string journal_id;    // follow only this journal; empty: see one_journal
  bool one_journal = false;  // follow only the newest journal, because sequences are given
  std::string on_gap = "fill";
  std::string wait = "backoff";
  std::uint64_t reattach_ns = 30'000'000'000;  // kForeverNs: no limit
  std::uint64_t count = 0;                     // 0: no limit
  std::uint32_t measure = 0;                   // 0: no ages
  Sequence last = kNoSequence;                 // last sequence to deliver; kNoSequence: no limit
  bool until_closed = false;
  bool summary = false;
};

// --from, --count, and the options of add_end_options, which are the same in every command.
void add_follow_options(CLI::App& command, FollowOptions& options);
// --name, --until-closed, --reattach, --summary.
void add_end_options(CLI::App& command, FollowOptions& options);
// --journal-id, for commands that can also read discarded journals.
void add_journal_option(CLI::App& command, FollowOptions& options);
// --on-gap, --wait and --measure. `keeps_state`: a checkpoint can replace the records of a gap.
void add_policy_options(CLI::App& command, FollowOptions& options, bool keeps_state = false);

// Converts the options to a subscriber's options; `name` is the command's name. Error:
// kInvalidArgument with the valid forms.
absl::StatusOr<SubscriberOptions> to_subscriber_options(const FollowOptions& options,
                                                        const std::string& name);
// True if the command only displays records: standard output is a terminal and --name is not given.
bool is_for_a_person(const FollowOptions& options);
// Opens a subscriber with these options, after `choose` has adjusted them.
absl::StatusOr<RecordSource> open_source(
    const FollowOptions& options, const std::string& name,
    const std::function<void(SubscriberOptions&)>& choose = {});

// Consecutive records of one session, without padding.
struct FollowedRecords {
  Sequence first = kNoSequence;
  std::span<const std::byte> bytes;
  std::uint32_t record_bytes = 0;
  const std::string& schema;
  const std::shared_ptr<const Schema>& description;  // null: not described
  std::uint64_t conflated = 0;  // older records replaced by this one (ConflatedReader)
};

// Callbacks for the records and events of a bus. A returned error ends the run.
struct FollowHandlers {
  std::function<absl::Status(const FollowedRecords& records)> on_records;
  std::function<absl::Status(const Event& event)> on_event;
  // Called with each state entry when starting from a snapshot. If empty, entries are skipped.
  std::function<absl::Status(std::span<const std::byte> entry)> on_state;
  // Returns true for the records to keep. If empty, all records are kept.
  std::function<bool(std::span<const std::byte> record)> keep;
  // Returns true to end early, in addition to --count and --until-closed. Called after every event,
  // and after every batch with a null event.
  std::function<bool(const Event* event, Sequence last)> done;
  // Called a few times per second, whether records arrive or not.
  std::function<absl::Status()> on_tick;
};

struct FollowResult {
  std::uint64_t records = 0;  // kept
  Sequence first = kNoSequence;
  Sequence last = kNoSequence;
  // XXH3-64 over the bytes of the kept records in delivery order. State entries are not included,
  // so a start from a snapshot as of S has the same digest as a start at seq:S+1.
  std::uint64_t digest = 0;
  Sequence state_as_of = kNoSequence;
  bool counted = false;  // --count was reached
  bool stopped_at_gap = false;
  bool closed = false;  // according to the journal, the session was closed cleanly
  // Older records that the kept records replaced. Set only if records were conflated.
  std::optional<std::uint64_t> conflated;
  SubscriberCounters counters;
  absl::Status status;

  int exit_code(bool until_closed) const;
};

// Follows until --count, --until-closed, a stop signal, the end, or an error.
FollowResult follow(RecordSource& source, const FollowOptions& options,
                    const FollowHandlers& handlers);

// The percentiles that the summaries contain.
nlohmann::ordered_json latency_json(const FineHistogram& latency);

// Ages of records when shown: since their publish time or, if unknown, their own timestamp.
using Latencies = BasicAges<FineHistogram>;

// Prints the summary as one line of JSON on standard output, with `latencies` if not null.
void print_summary(const FollowResult& result, const Latencies* latencies);

// Prints the event as a line on standard error. The first session is not printed. If the end is an
// error, the caller prints that error instead.
void print_event(const Event& event);

}  // namespace lapwing::cli
