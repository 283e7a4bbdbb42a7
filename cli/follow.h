// What every command that follows a bus has in common: its options, its loop's bookkeeping, its
// summary, and its exit code. `tail`, `record` and `export` differ only in what they do with a
// record.
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
  std::string name;  // empty: the command's
  // live | oldest | seq:N | time:RFC3339 | after:POSITION | snapshot[:FOLD]
  std::string from = "live";
  std::string journal_id;    // follow only this journal; empty: see one_journal
  bool one_journal = false;  // follow only the newest journal, because sequences are given
  std::string on_gap = "fill";
  std::string wait = "backoff";
  std::uint64_t reattach_ns = 30'000'000'000;  // kForeverNs: no limit
  std::uint64_t count = 0;                     // 0: no limit
  std::uint32_t measure = 0;                   // 0: no ages
  Sequence last = kNoSequence;                 // nothing beyond it is delivered; 0: no limit
  bool until_closed = false;
  bool summary = false;
};

// --from, --count, and those of add_end_options: the same in every command.
void add_follow_options(CLI::App& command, FollowOptions& options);
// --name, --until-closed, --reattach, --summary.
void add_end_options(CLI::App& command, FollowOptions& options);
// --journal-id, for commands that read discarded journals, too.
void add_journal_option(CLI::App& command, FollowOptions& options);
// --on-gap, --wait and --measure. `keeps_state`: a checkpoint can stand for the records of a gap.
void add_policy_options(CLI::App& command, FollowOptions& options, bool keeps_state = false);

// Turns the texts into a subscriber's options; `name` is the command's. Errors: kInvalidArgument with the forms that exist.
absl::StatusOr<SubscriberOptions> to_subscriber_options(const FollowOptions& options,
                                                        const std::string& name);
// Whether a command only shows records to a person: at a terminal, and without --name.
bool is_for_a_person(const FollowOptions& options);
// A subscriber with those, once `choose` has seen them.
absl::StatusOr<RecordSource> open_source(
    const FollowOptions& options, const std::string& name,
    const std::function<void(SubscriberOptions&)>& choose = {});

// Records laid end to end, of one session.
struct FollowedRecords {
  Sequence first = kNoSequence;
  std::span<const std::byte> bytes;
  std::uint32_t record_bytes = 0;
  const std::string& schema;
  const std::shared_ptr<const Schema>& description;  // null: not described
  std::uint64_t conflated = 0;  // older ones that the one record stands for, of a ConflatedReader
};

// What a command does with what it follows. A returned error ends the run.
struct FollowHandlers {
  std::function<absl::Status(const FollowedRecords& records)> on_records;
  std::function<absl::Status(const Event& event)> on_event;
  // An entry of the state that a start from a snapshot begins with. Empty: passed over.
  std::function<absl::Status(std::span<const std::byte> entry)> on_state;
  // A record is kept if this is empty or says so.
  std::function<bool(std::span<const std::byte> record)> keep;
  // Where to end, besides --count and --until-closed. Asked after every event and every batch,
  // which has no event.
  std::function<bool(const Event* event, Sequence last)> done;
  // Called a few times a second while records come and while they do not.
  std::function<absl::Status()> on_tick;
};

struct FollowResult {
  std::uint64_t records = 0;  // kept
  Sequence first = kNoSequence;
  Sequence last = kNoSequence;
  // XXH3-64 over the kept records' bytes in the order delivered. Entries of a state are no records:
  // from a snapshot as of S it is the digest of whoever began with seq:S+1.
  std::uint64_t digest = 0;
  Sequence state_as_of = kNoSequence;
  bool counted = false;  // --count was reached
  bool stopped_at_gap = false;
  bool closed = false;  // the journal says the session was closed cleanly
  // What the kept records stand for besides themselves; only where they were conflated.
  std::optional<std::uint64_t> conflated;
  SubscriberCounters counters;
  absl::Status status;

  int exit_code(bool until_closed) const;
};

// Follows until --count, --until-closed, a stop signal, the end, or an error.
FollowResult follow(RecordSource& source, const FollowOptions& options,
                    const FollowHandlers& handlers);

// The percentiles that summaries show.
nlohmann::ordered_json latency_json(const FineHistogram& latency);

// Of records, from their time of publishing or else their own to when they are shown.
using Latencies = BasicAges<FineHistogram>;

// The summary's line of JSON on standard output; `latencies` where they were asked for.
void print_summary(const FollowResult& result, const Latencies* latencies);

// The event as a line on standard error. The first session is none; an end by an error is left to
// the caller that prints that error.
void print_event(const Event& event);

}  // namespace lapwing::cli
