// The subscriber: the read end of a bus, in one process. It joins at any point and misses nothing
// that the journal keeps. Records that it cannot deliver are reported in order, as events.
//
//   auto bus = lapwing::Subscriber::open({.directory = "./es"});
//   if (!bus.ok()) return bus.status();
//   for (;;) {
//     const auto item = bus->next();
//     if (!item.ok()) return bus->status();
//     if (const auto quote = item->record_as<Quote>()) {
//       on_quote(item->sequence, *quote);
//     } else if (item->event != nullptr) {
//       on_event(*item->event);
//     }
//   }
//
// There are three ways to read, which may be mixed; each continues where the last one ended:
//   next      the next record, in place, or the next event
//   read rows of records or state entries, as many as are available, or one event
//   read_one  one record into the caller's memory: the fastest. read_event returns the events
// Each waits until its deadline. Deadline::now() does not wait, and returns kWouldBlock.
//
// All work except opening happens inside these calls: finding the bus, the handshake and the flush,
// reading journal and ring, and handling gaps and a publisher's death and return. Records and
// events are delivered in one order, each event exactly where it belongs between two records. The
// first event is always kSession. It describes the records that follow.
//
// A start from a snapshot delivers the state first, then every record after it:
//   kSession, kState …, kSnapshotComplete S, records S+1 …
// If no checkpoint can be used, it delivers kNoSnapshot and then every record from the oldest. The
// state is loaded in slices of 1 MiB and verified as a whole before its first entry is delivered.
// lapwing/load_state.h does all of it in one call. With OnGap::kSnapshot a state is also delivered
// after a gap: kGap, kState …, kSnapshotComplete S, records S+1 …. The first kState of a series, or
// a kSnapshotComplete without one, begins a state that replaces the previous one.
//
// docs/reference/events.md shows the items that each start and each policy delivers.
//
// Threads: one thread at a time, any thread. A call made while another one waits returns kMisuse.
// interrupt() may be called at any time. A subscriber writes nothing that a publisher reads, and
// maps the ring read-only. While the ring has records to read, it neither allocates nor makes
// system calls.
//
// A subscriber with chosen instruments (SubscriberOptions::instruments) delivers only their
// records, and all events. Other records are skipped: they count as taken and do not end a wait. A
// call with Deadline::now() skips a limited number of them, so that it returns even on a busy bus.
//
// Fork: in a forked child every call on the parent's subscriber returns kForked. There, arm() and
// live() are false, head(), lag() and durable() are 0, and the destructor does nothing. If no call
// was under way, position(), counters() and ages() are as they were at the fork, and the child may
// open a subscriber of its own at position(). The fork does not affect the parent's subscriber.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/ages.h"
#include "lapwing/detail/enum_names.h"
#include "lapwing/detail/plain_struct.h"
#include "lapwing/detail/read_path.h"
#include "lapwing/error.h"
#include "lapwing/gap.h"
#include "lapwing/result.h"
#include "lapwing/schema.h"
#include "lapwing/sequence.h"
#include "lapwing/thread_placement.h"
#include "lapwing/waiting.h"

namespace lapwing {

class Cursor;
class Fold;

inline constexpr std::size_t kInstrumentsMax = 65'536;

// A position at which to continue. Store it in a recording, a cursor, or a file of your own.
struct StoredPosition {
  Id128 journal_id = {};
  Id128 session_id = {};
  Sequence sequence = kNoSequence;  // last one taken; the subscriber continues after it

  // One line without blanks: <journal id>/<session id>/<sequence>. See
  // docs/reference/file-formats.md.
  [[nodiscard]] std::string text() const;
  // Parses the result of text(). Errors: kInvalidArgument for any other text.
  [[nodiscard]] static absl::StatusOr<StoredPosition> parse(std::string_view text);

  friend bool operator==(const StoredPosition&, const StoredPosition&) = default;
};

// Where a subscriber begins. Use the functions below to make one. A member that is set, but that
// its kind does not use, is refused.
struct Start {
  enum class Kind : std::uint32_t { kLive, kOldest, kSequence, kTime, kSnapshot, kAfter };

  Kind kind = Kind::kLive;
  std::uint64_t value = 0;  // sequence, or UTC ns
  // For kSnapshot and OnGap::kSnapshot: the name of a fold that Lapwing ships, or empty for
  // default_fold(). To use a fold of your own, set own_fold instead.
  std::string fold = {};
  std::shared_ptr<const Fold> own_fold = {};
  std::optional<StoredPosition> position = {};  // kAfter
  // The journal to begin in, for kOldest, kSequence and kTime (History::journals() lists them). By
  // default, kOldest begins in the oldest journal that contains records, kSequence in the newest
  // one, and kTime in the one that was in use at that time. All later journals follow, each after a
  // kReset.
  std::optional<Id128> journal = {};

  static Start live() { return {}; }  // the next record to be published
  // Records that are missing before the first one are reported only if `instruments` is set,
  // because the sequences do not show them in that case.
  static Start oldest() { return {.kind = Kind::kOldest}; }
  static Start sequence(Sequence n) { return {.kind = Kind::kSequence, .value = n}; }
  // Begins at that time or a little before.
  static Start time(std::uint64_t utc_ns) { return {.kind = Kind::kTime, .value = utc_ns}; }
  // The state as of the newest usable checkpoint of that fold, then the record after it.
  static Start snapshot(std::string fold = "") {
    return {.kind = Kind::kSnapshot, .fold = std::move(fold)};
  }
  static Start snapshot(std::shared_ptr<const Fold> own_fold) {
    return {.kind = Kind::kSnapshot, .own_fold = std::move(own_fold)};
  }
  // Continues at a stored position, including one in a discarded journal. If its session or journal
  // no longer exists, delivers kReset and then the oldest record.
  static Start after(const StoredPosition& position) {
    return {.kind = Kind::kAfter, .position = position};
  }
  // After the last commit of a cursor (lapwing/cursor.h), or `otherwise` if it has none.
  static Start resume(const Cursor& cursor, Start otherwise);
};

// The policy when the publisher laps this subscriber. It does not apply before kCaughtUp: the
// requested history is in the journal, and a subscriber that is lapped during the join returns to
// the journal.
enum class OnGap : std::uint32_t {
  // Read the gap from the journal. Records that cannot be filled are reported as lost. Needs a
  // journal; without one, the subscriber ends with kNoJournal.
  kFill = 1,
  kSkip = 2,  // report it, count it as lost, and continue in the ring
  kStop = 3,  // report it and end with kStoppedAtGap; position() is before the gap
  // Report it, deliver the state as of the newest checkpoint after the gap's beginning, and
  // continue after that state. The result is correct without reading all missed records. If there
  // is no such checkpoint, kNoSnapshot has the reason, and the gap is read from the journal. The
  // fold is that of `start`, which may name one with any kind of start, or else default_fold().
  // Needs a journal, and records that the fold supports.
  kSnapshot = 4,
};

// Stable identifiers, shown by commands and in JSON.
inline constexpr detail::EnumName<OnGap> kOnGapNames[] = {
    {OnGap::kFill, "fill"},
    {OnGap::kSkip, "skip"},
    {OnGap::kStop, "stop"},
    {OnGap::kSnapshot, "snapshot"},
};
constexpr const char* name_of(OnGap policy) {
  return detail::name_in(kOnGapNames, policy);
}

struct SubscriberOptions {
  std::string directory = {};
  std::string name = {};  // shown by `lapwing subscribers`
  Start start = {};
  // The required description of the records: schema_of<Record>() (lapwing/schema.h). If mismatch()
  // finds a difference, the subscriber ends with kRecordSize, and the message names the first field
  // that differs.
  std::optional<Schema> expect = {};
  OnGap on_gap = OnGap::kFill;
  // Only records of these instruments; empty: all. A string is a symbol of the feed's metadata,
  // even if it consists of digits; "id:5930" is the instrument with that number. If a symbol was
  // used for several instruments, the record's time decides. The instrument is the field
  // instrument_id, or else the first unsigned number of the key (docs/reference/records.md).
  // State entries are chosen by the record that they begin with. At the start of each session,
  // the subscriber ends with kInvalidArgument if the session's records have no instrument. It ends
  // with kNotFound if neither that session nor a later one has the symbol.
  std::vector<std::string> instruments = {};
  WaitStrategy wait = WaitStrategy::kBackoff;
  // After a clean close, even before the join, true ends with kClosed, and false waits for the next
  // session.
  bool end_at_close = false;
  // How long to wait for a bus or a publisher to appear or return; or kForever.
  std::chrono::nanoseconds reattach = std::chrono::seconds(30);
  // How long the publisher may take to make the records published before the join
  // durable.
  std::chrono::nanoseconds flush_timeout = std::chrono::seconds(10);
  std::chrono::nanoseconds stale_after = kNever;  // without a record
  // The subscriber is behind while it has yet to take more than behind_records published records,
  // or its calls have noticed that one of these has been available for behind_time. kBehind and
  // kLive are delivered only if at least one of the two is set. behind_records 0: not by number.
  std::uint32_t behind_records = 0;
  std::chrono::nanoseconds behind_time = kNever;
  // Measures the age of every Nth record when it is delivered, from ring or journal; 0: never. The
  // records must have a publish time. See ages(). A measured record costs a call and a clock read;
  // the others cost nothing extra.
  std::uint32_t measure_every = 0;
  // How long to retry a journal file that does not exist, before its records are lost.
  std::chrono::nanoseconds missing_file_grace = std::chrono::seconds(2);
  ThreadPlacement threads = {};  // of its only thread, which fd() starts
  // The subscriber only displays records. Its gaps and losses are in its own row of `lapwing
  // subscribers`, and count neither in the bus's totals nor among the bus's events.
  bool observes = false;
};

// The kinds of events. docs/reference/events.md shows when they are delivered, item by item.
enum class EventKind : std::uint32_t {
  kGap = 1,       // Event::gap: records missing from the ring; fillable: the journal has them
  kLost = 2,      // Event::gap: records that no source has; counted as lost. count() is
                  // 0 if a power cut took only records that this subscriber already has; see text
  kSession = 3,   // a session begins at `sequence`: the first one, or the next. text is set if
                  // its publisher has no slot for another client, and describes the effects
  kReset = 4,     // a different history: a new journal starts at `sequence`; text has the reason.
                  // If fold() is not for its records, the subscriber ends instead
  kCaughtUp = 5,  // everything up to the join, `sequence`, has been delivered
  kStale = 6,     // the publisher is alive but has been silent for stale_after
  kPublisherGone = 7,     // the publisher ended without closing; waiting for the next
  kClosed = 8,            // the session was closed cleanly after `sequence`; all was delivered
  kSnapshotComplete = 9,  // the state is complete, as of `sequence`; text names its checkpoint,
                          // and the newer ones that were skipped, with the reasons
  kNoSnapshot = 10,       // no checkpoint can be used; text has the reason. The next record is
                          // `sequence`, the oldest that is kept. A state lacks all earlier ones.
                          // After a gap (Event::gap) the state stays as it is, and record
                          // `sequence` comes next
  kBehind = 11,           // it has fallen behind by behind_records or behind_time, without a gap;
                          // `sequence` is one below the next; text has the lag
  kLive = 12,             // it has taken everything, or is at most half of its limits behind: the
                          // first time, and after each kBehind, kGap, kLost, kReset,
                          // kPublisherGone and kClosed. `sequence` is one below the next
};

// Stable identifiers, shown by commands and in JSON.
constexpr const char* name_of(EventKind kind) {
  switch (kind) {
    case EventKind::kGap:
      return "gap";
    case EventKind::kLost:
      return "lost";
    case EventKind::kSession:
      return "session";
    case EventKind::kReset:
      return "reset";
    case EventKind::kCaughtUp:
      return "caught-up";
    case EventKind::kStale:
      return "stale";
    case EventKind::kPublisherGone:
      return "publisher-gone";
    case EventKind::kClosed:
      return "closed";
    case EventKind::kSnapshotComplete:
      return "snapshot-complete";
    case EventKind::kNoSnapshot:
      return "no-snapshot";
    case EventKind::kBehind:
      return "behind";
    case EventKind::kLive:
      return "live";
  }
  return "unknown";
}

// An event, with everything that belongs to it.
struct Event {
  EventKind kind = {};
  Sequence sequence = kNoSequence;
  Gap gap = {};  // kGap, kLost; with OnGap::kSnapshot also kSnapshotComplete and kNoSnapshot
  // The size of the records that follow.
  std::uint32_t record_bytes = 0;
  // "bytes" if the bus's schema is impossible (a shipped schema's name with a different size, or a
  // description of other records), so a cast by schema is safe. schema_note then contains the
  // problem. It also reports a description that cannot be read, and is empty otherwise.
  std::string schema_name = {};
  std::string schema_note = {};
  // Null: the records are not described. The object stays the same while the description does.
  std::shared_ptr<const Schema> schema = {};
  Id128 journal_id = {};
  Id128 session_id = {};          // that published those records; not always the newest one
  bool is_first_session = false;  // kSession
  // Records of other instruments are skipped (SubscriberOptions::instruments). A jump in the
  // sequences is then not a loss: kSession, kGap, kLost and kReset report all losses.
  bool is_filtered = false;
  // The bus has journals before this one, so its sequence 1 is not the beginning of the
  // feed.
  bool follows_journal = false;
  OnGap on_gap = OnGap::kFill;      // kGap: the policy that applies
  std::string fold = {};            // of a state that was loaded
  std::uint64_t state_entries = 0;  // kSnapshotComplete: of the state
  // A message: the cause of a reset or a loss, the checkpoint, or how a session ended. For
  // kCaughtUp, why the records before the join are not durable. Empty if there is nothing to
  // report.
  std::string text = {};
};

// A type that read_one() can fill: a plain struct that is not a view.
template <typename Record>
concept ReadableRecord =
    detail::PlainStruct<Record> && !std::convertible_to<Record&, std::span<std::byte>>;

enum class ItemKind : std::uint32_t { kRecord = 1, kState = 2, kEvent = 3 };

// The result of next().
struct Item {
  ItemKind kind = {};
  Sequence sequence = kNoSequence;         // for a state entry, Fold::place_of, or 0 if the
                                           // fold has none
  std::span<const std::byte> record = {};  // kRecord, kState; valid until the next call
  const Event* event = nullptr;            // kEvent; valid until the next call
  std::uint64_t conflated = 0;  // by ConflatedReader: older records of its key that it replaces

  [[nodiscard]] bool is(EventKind wanted) const {
    return event != nullptr && event->kind == wanted;
  }
  // A copy of the record; nullopt if there is none, or if it has a different size.
  template <ReadableRecord Record>
  [[nodiscard]] std::optional<Record> record_as() const {
    return kind == ItemKind::kRecord ? detail::copy_as<Record>(record) : std::nullopt;
  }
};

// The result of read(): rows, or one event. All rows have the same session, size and kind. Their
// sequences are consecutive, unless they are in a separate column.
struct Batch {
  ItemKind kind = {};
  Sequence first = kNoSequence;                  // of the first record
  std::size_t count = 0;                         // rows
  std::uint32_t row_bytes = 0;                   // with kTooSmall, the size of a row
  std::shared_ptr<const Event> event = nullptr;  // kEvent; otherwise null
  std::uint64_t conflated = 0;                   // as in Item, of all rows

  [[nodiscard]] bool is(EventKind wanted) const {
    return event != nullptr && event->kind == wanted;
  }
};

struct SubscriberCounters {
  std::uint64_t records = 0;
  Sequence first = kNoSequence;  // since the last reset
  Sequence last = kNoSequence;
  std::uint64_t gaps = 0;      // kGap items
  std::uint64_t lost = 0;      // records of kLost items and of skipped gaps
  std::uint64_t in_state = 0;  // records after a gap, not delivered because a state contains them
  std::uint64_t filled = 0;    // records of gaps that were delivered after all
  std::uint64_t duplicates = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t sessions = 0;  // seen, including the first
  std::uint64_t reattached = 0;
  std::uint64_t state = 0;  // entries of kState items, which are not records
  // Skipped records of other instruments. They do not count in `records`. In `first`, `last` and
  // `filled` they count like delivered ones.
  std::uint64_t filtered = 0;
};

class Subscriber {
 public:
  // Checks the options. Does not wait, because the calls that read find the bus.
  // Errors: kInvalidArgument.
  [[nodiscard]] static absl::StatusOr<Subscriber> open(SubscriberOptions options);
  Subscriber(Subscriber&&) noexcept;
  Subscriber& operator=(Subscriber&&) noexcept;
  ~Subscriber();

  // Errors from the read calls. Nothing was read: kWouldBlock, kTimedOut, kInterrupted. The call
  // had no effect: kMisuse (another call is under way), kTooSmall (the memory is smaller than
  // Batch::row_bytes, or a column is empty), kEventDue, kRecordSize of read_one. All others are
  // final: kClosed after a clean close with end_at_close, otherwise the error of status(), which
  // has the message.

  // Returns the next record in place, or the next event. For a busy wait, it is better than a loop
  // of your own, because it polls only the next slot. While next() or read_one() waits, an
  // interrupt or a passed deadline is detected after some 1,000 polls, about 30 us.
  [[nodiscard]] Result<Item> next(Deadline deadline = Deadline::never()) {
    if (path_->take_bytes(path_->place, looks(deadline))) [[likely]] {
      return Item{ItemKind::kRecord, path_->next - 1, {path_->place, path_->record_bytes}};
    }
    return next_further(deadline);
  }

  // Copies rows, end to end, as many as are available and fit. Waits until there is a row or an
  // event. A reader that keeps up with a busy publisher first lets it get ahead for about a
  // microsecond, because reading each cache line while it is written slows both down.
  [[nodiscard]] Result<Batch> read(std::span<std::byte> rows,
                                   Deadline deadline = Deadline::never());
  // The same with a column that receives the sequence of each row, or the place of each state entry
  // (Item). A batch has at most as many rows as the column has elements. With `instruments`,
  // it fills a batch with records that are not consecutive, while the other read() returns one run
  // of consecutive records at a time.
  [[nodiscard]] Result<Batch> read(std::span<std::byte> rows, std::span<Sequence> sequences,
                                   Deadline deadline = Deadline::never());

  // Copies the next record and returns its sequence. `record` has the size of the bus's records.
  // kEventDue: an event or a state entry comes before it. kRecordSize: the bus has records of
  // a different size; with `expect` this is final. With Deadline::now() it does not wait for
  // records. While no bus is attached, it may make system calls to find one.
  [[nodiscard]] Result<Sequence> read_one(std::span<std::byte> record,
                                          Deadline deadline = Deadline::never()) {
    if (record.size() == path_->record_bytes && path_->take_bytes(record.data(), looks(deadline)))
        [[likely]] {
      return path_->next - 1;
    }
    return read_one_further(record, deadline);
  }
  // Reads a record whose size is known at compile time. This is the fastest way: it is inlined, and
  // makes no call if the record is available or arrives soon.
  template <ReadableRecord Record>
  [[nodiscard, gnu::always_inline]] Result<Sequence> read_one(
      Record& record, Deadline deadline = Deadline::never()) {
    if (path_->take(record, looks(deadline))) [[likely]] {
      return path_->next - 1;
    }
    alignas(Record)
        std::byte late[sizeof(Record)];  // so that `record` itself need not be in memory
    const Result<Sequence> sequence = read_one_further(late, deadline);
    if (sequence.ok()) std::memcpy(&record, late, sizeof late);
    return sequence;
  }

  // Returns the event that is due now. kWouldBlock: there is none. kEventDue: a state entry is due,
  // which only next() and read() return.
  [[nodiscard]] Result<Event> read_event();

  // Ends the wait that is under way, or else the next one. Safe from any thread and from a signal
  // handler.
  void interrupt() noexcept;

  // For an event loop. fd() returns a descriptor, and starts a helper thread once. arm() true:
  // nothing is available, and the descriptor becomes readable when something may be. False: read at
  // once. The result is valid until the next call on this object.
  // Errors: kInvalidArgument for WaitStrategy::kBusy; kSystem, kLimit.
  [[nodiscard]] absl::StatusOr<int> fd();
  [[nodiscard]] bool arm();

  // The fold, and the number of entries in the last loaded state. The fold is null before
  // the first kState, kSnapshotComplete or kNoSnapshot.
  [[nodiscard]] const std::shared_ptr<const Fold>& fold() const;
  [[nodiscard]] std::uint64_t state_size() const;
  // Values from the last delivered session; "" and 0 before the first event.
  [[nodiscard]] const std::string& schema_name() const;
  [[nodiscard]] const std::shared_ptr<const Schema>& schema() const;  // null: not described
  [[nodiscard]] std::uint32_t record_bytes() const;
  [[nodiscard]] Id128 session_id() const;

  // Why the subscriber has ended; ok after a clean close with end_at_close. kPublisherGone: the
  // publisher died or closed, and no other publisher appeared within `reattach`. kNoBus: no bus
  // appeared at all. Also kNoAnswer, kStoppedAtGap, kNoJournal, kRefused, …
  [[nodiscard]] const absl::Status& status() const;

  // The position to store; continue there with Start::after(). It is after the last delivered
  // record, loss or reset, so store it once that is processed. In a start from a snapshot, its
  // sequence is kNoSequence until kSnapshotComplete is delivered, because a partial state cannot be
  // continued. If a state is loaded after a gap, the position stays before the gap until then.
  [[nodiscard]] StoredPosition position() const;
  // The newest durable record, as of now, of the history of position(). Records up to here survive
  // a power cut. Never beyond the remaining records of the session that was read last, even if the
  // next session has made more records durable. 0 before the first attachment and without a
  // journal.
  [[nodiscard]] Sequence durable() const;
  // The newest record of the session that is being read, as of now, and how many records the
  // subscriber is behind it. 0 while no bus is attached. Both read a word that the publisher writes
  // for every record.
  [[nodiscard]] Sequence head() const;
  [[nodiscard]] std::uint64_t lag() const;
  // Whether it reads the ring and has taken all but at most behind_records published records, as of
  // now. Checks only one slot, so call it for each decision that needs the newest data. False
  // while a known event is not yet read, and from a gap until the ring is reached again. It does
  // not detect a dead or silent publisher: kPublisherGone and kStale report that. Records of other
  // instruments count until a call has skipped them.
  [[nodiscard]] bool live() const { return path_->is_near_head(); }
  [[nodiscard]] SubscriberCounters counters() const;
  // The ages of all records that measure_every has selected so far. nullopt as long as
  // none could be selected: measure_every is 0, or no attached session had records with a publish
  // time.
  [[nodiscard]] std::optional<Ages> ages() const;

 private:
  friend struct SubscriberAccess;
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  explicit Subscriber(StateHandle state);
  // How often a call polls the next slot before it does anything else.
  std::uint32_t looks(Deadline deadline) const {
    return deadline == Deadline::now() ? 0 : path_->looks;
  }
  Result<Sequence> read_one_further(std::span<std::byte> record, Deadline deadline);
  Result<Item> next_further(Deadline deadline);
  StateHandle state_;
  detail::ReadPath* path_;  // state_'s
};

}  // namespace lapwing
