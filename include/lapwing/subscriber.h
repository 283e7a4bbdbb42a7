// The subscriber: one process's read end of a bus. Joins at any point, misses nothing the journal
// keeps, and says so, in band, where it cannot.
//
//   lapwing::Subscriber subscriber({.directory = "/run/es", .start = lapwing::Start::oldest()});
//   for (;;) {
//     const lapwing::Item item = subscriber.wait(deadline_ns);
//     if (item.kind == lapwing::ItemKind::kRecord) use(item.sequence, subscriber.record());
//   }
//
// Everything but opening happens inside poll and wait: finding the bus, the handshake and the flush
// (docs/bootstrap.md), journal and ring, gaps, a publisher's death and return. Records and events
// come in one order, and an event stands exactly where it belongs between two records.
//
// A start from a snapshot tells the state first, an entry at a time, and then every record after
// it:
//   kState …               record() is one entry of the fold, state_size() says how many there are
//   kSnapshotComplete S    the state is as of S; text() says from which checkpoint
//   kRecord S+1 …
// or, where no checkpoint can be used, kNoSnapshot and then every record from the oldest. The state
// is loaded in slices of kSnapshotSliceBytes, one a poll, verified as a whole before its first
// entry is told, and held (mapped, or in memory) until it is complete.
// lapwing/load_state.h does all of it in one call.
//
// Thread safety: one thread. Writes nothing that a publisher reads; maps the ring read-only. No
// allocation and no system call while records are there to be read in the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/gap.h"
#include "lapwing/sequence.h"
#include "os/waiter.h"
#include "snapshot/journal/missing_file.h"

namespace lapwing {

class Fold;

// What is read of a checkpoint within one poll.
inline constexpr std::size_t kSnapshotSliceBytes = 1024 * 1024;

struct Start {
  enum class Kind : std::uint32_t { kLive, kOldest, kSequence, kTime, kSnapshot };
  Kind kind = Kind::kLive;
  std::uint64_t value = 0;                // sequence, or UTC ns
  std::string fold_name = "";             // kSnapshot; empty: what default_fold() says
  std::shared_ptr<const Fold> fold = {};  // kSnapshot: one of your own, instead of a name

  static Start live() { return {Kind::kLive}; }      // the next record to be published
  static Start oldest() { return {Kind::kOldest}; }  // the oldest retained
  static Start at(Sequence n) { return {Kind::kSequence, n}; }
  // At or a little before.
  static Start time(std::uint64_t wall_ns) { return {Kind::kTime, wall_ns}; }
  // The state as of the newest checkpoint of that fold that is good, then the record after it.
  static Start snapshot(std::string fold_name = "") {
    return {Kind::kSnapshot, 0, std::move(fold_name)};
  }
  static Start snapshot(std::shared_ptr<const Fold> fold) {
    return {Kind::kSnapshot, 0, "", std::move(fold)};
  }
};

// What to do when the publisher laps this subscriber. Until kCaughtUp the policy does not matter:
// the history that was asked for is in the journal, and a lap during the join only leads back to
// it.
enum class OnGap : std::uint32_t {
  kFill = 1,  // read it from the journal; what cannot be filled is reported as lost
  kSkip = 2,  // report it, count it as lost, and go on in the ring
  kStop = 3,  // report it and end with kStoppedAtGap; position() is before the gap
};

// A position that was stored somewhere (a recording, a consumer's own file) and is to be continued.
struct StoredPosition {
  Id128 journal_id;
  Id128 session_id;
  Sequence sequence = 0;  // last one that was taken; the subscriber goes on after it
};

struct SubscriberOptions {
  std::string directory = {};
  std::string name = {};  // shown by `lapwing subscribers`
  Start start = {};
  // Instead of `start`; a history that is gone is `reset`.
  std::optional<StoredPosition> resume = {};
  OnGap on_gap = OnGap::kFill;
  WaitStrategy wait = WaitStrategy::kBackoff;
  std::uint64_t reattach_ns = 30'000'000'000;  // how long to wait for a bus or publisher to come
  std::uint64_t flush_timeout_ns = 10'000'000'000;
  std::uint64_t stale_after_ns = 0;                           // 0: never
  std::uint64_t missing_file_grace_ns = kMissingFileGraceNs;  // asked for again for so long
};

enum class ItemKind : std::uint32_t {
  kNothing = 0,        // nothing now; try again
  kRecord = 1,         // subscriber.record() is record `sequence`
  kGap = 2,            // `gap`: a range that the ring did not give; fillable: the journal has it
  kLost = 3,           // `gap`: a range that nothing can give; counted as lost. Empty (count() 0)
                       // where a power cut took only what this subscriber has; text says so
  kSession = 4,        // a new session goes on at `sequence`
  kReset = 5,          // another history: a new journal starts at `sequence`; text says why. With
                       // records that fold() is not for the subscriber ends instead
  kCaughtUp = 6,       // everything up to the join, `sequence`, has been delivered
  kStale = 7,          // the publisher lives but has been silent for stale_after
  kPublisherGone = 8,  // the publisher ended without closing; waiting for the next
  kClosed = 9,         // the session was closed cleanly after `sequence`; all was delivered
  kEnded = 10,         // nothing more will come, all is closed; status() says why
  kState = 11,         // subscriber.record() is an entry of the state, of state_size() in all;
                       // `sequence` is its place where the fold has one (Fold::place_of), else 0
  kSnapshotComplete = 12,  // the state is complete, as of `sequence`; text says from which
                           // checkpoint, and which newer ones were passed over and why
  kNoSnapshot = 13,        // no checkpoint can be used, text says why; `sequence`, the oldest that
                           // is kept, comes first. What is before it is lost to a state
};

// Stable identifiers, shown by commands and in JSON.
constexpr const char* name_of(ItemKind kind) {
  switch (kind) {
    case ItemKind::kNothing:
      return "nothing";
    case ItemKind::kRecord:
      return "record";
    case ItemKind::kGap:
      return "gap";
    case ItemKind::kLost:
      return "lost";
    case ItemKind::kSession:
      return "session";
    case ItemKind::kReset:
      return "reset";
    case ItemKind::kCaughtUp:
      return "caught-up";
    case ItemKind::kStale:
      return "stale";
    case ItemKind::kPublisherGone:
      return "publisher-gone";
    case ItemKind::kClosed:
      return "closed";
    case ItemKind::kEnded:
      return "ended";
    case ItemKind::kState:
      return "state";
    case ItemKind::kSnapshotComplete:
      return "snapshot-complete";
    case ItemKind::kNoSnapshot:
      return "no-snapshot";
  }
  return "unknown";
}

struct Item {
  ItemKind kind = ItemKind::kNothing;
  Sequence sequence = kNoSequence;
  Gap gap;
};

struct SubscriberCounters {
  std::uint64_t records = 0;
  Sequence first = 0;  // since the last reset
  Sequence last = 0;
  std::uint64_t gaps = 0;    // kGap items
  std::uint64_t lost = 0;    // records: of kLost items, and of gaps that were skipped
  std::uint64_t filled = 0;  // records of gaps that were delivered after all
  std::uint64_t duplicates = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t sessions = 0;  // seen, the first included
  std::uint64_t reattached = 0;
  std::uint64_t state = 0;  // entries of kState items, which are no records
};

class Follower;

class Subscriber {
 public:
  explicit Subscriber(SubscriberOptions options);
  ~Subscriber();
  Subscriber(Subscriber&&) noexcept;
  Subscriber& operator=(Subscriber&&) noexcept;

  // The next record or event if there is one now. Does not wait for records; while no bus is
  // attached it may make system calls to look for one.
  Item poll();
  // The same, waiting with the chosen strategy until deadline_ns (CLOCK_MONOTONIC). For busy waits
  // better than poll() in a loop of one's own: it looks at nothing but the next slot meanwhile.
  Item wait(std::uint64_t deadline_ns);
  // Copies up to out.size() / record_bytes() records that are there now, end to end; stops before
  // an event, which the next poll() returns. Returns the records copied; their sequences are the
  // last `count` up to counters().last. Where the call before came up to a busy publisher, it first
  // lets that get ahead for about a microsecond: a reader at its heels slows both down.
  std::size_t poll_batch(std::span<std::byte> out);

  // The record of the last kRecord item, or the entry of the last kState item; valid until the next
  // call.
  std::span<const std::byte> record() const;
  std::uint32_t record_bytes() const;  // 0 before the first attachment
  // "bytes", too, where the bus says a schema that Lapwing ships and its records have not that
  // one's size: who casts by schema() is safe. schema_note() then says so in words; else empty.
  const std::string& schema() const;
  const std::string& schema_note() const;

  // Of a start from a snapshot, from the first kState, kSnapshotComplete or kNoSnapshot on: the
  // fold, otherwise null, and how many entries its state has.
  const std::shared_ptr<const Fold>& fold() const;
  std::uint64_t state_size() const;

  // Why nothing more will come (kEnded): kPublisherGone (it died or closed, and nobody came within
  // reattach_ns), kNoBus (nobody came at all), kStoppedAtGap, kTimedOut, kNoJournal, kRefused, …
  const absl::Status& status() const;
  // The last event in words: why a reset or a loss, which checkpoint, how a session ended, why the
  // subscriber did; of kCaughtUp, why what was joined is not durable. Empty if it needs none.
  const std::string& text() const;

  // The position to store; resume from it with SubscriberOptions::resume. Behind the last record,
  // loss or reset that was told. Before kSnapshotComplete was told there is none: its sequence is
  // kNoSequence, since whoever has half a state has nothing that could be continued.
  StoredPosition position() const;
  // What is durable, as of now, of the history that position() is of: no power cut takes a record
  // up to here back. Never beyond what is left of the session that was read last, whatever the
  // next one has made durable. 0 before the first attachment and without a journal.
  Sequence durable() const;
  // The session of the last record that was delivered.
  Id128 session_id() const;
  const SubscriberCounters& counters() const;
  // Readable when poll() has something to do; for event loops, which then call poll() until
  // kNothing. Costs a helper thread once it is asked for. kInvalidArgument for WaitStrategy::kBusy.
  absl::StatusOr<int> descriptor();

 private:
  std::unique_ptr<Follower> follower_;
};

}  // namespace lapwing
