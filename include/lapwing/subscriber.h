// The subscriber: one process's read end of a bus. It joins at any point, misses nothing that the
// journal keeps, and says so, in order, where it cannot.
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
// Three ways to read, which may be mixed; each continues where the last one ended:
//   next      the next record, in place, or the next event
//   read      rows of records or of a state, as many as are there, or one event
//   read_one  one record into the caller's memory: the fastest. Events are left to read_event
// Each waits until its deadline. Deadline::now() does not wait, and is answered with kWouldBlock.
//
// Everything but opening happens inside them: finding the bus, the handshake and the flush, journal
// and ring, gaps, a publisher's death and return. Records and events come in one order, and an
// event stands exactly where it belongs between two records. The first event is always kSession: it
// says what records will come.
//
// A start from a snapshot delivers the state first, and then every record after it:
//   kSession, kState …, kSnapshotComplete S, records S+1 …
// or, where no checkpoint can be used, kNoSnapshot and then every record from the oldest. The state
// is loaded in slices of 1 MiB and verified as a whole before its first entry is delivered.
// lapwing/load_state.h does all of it in one call. With OnGap::kSnapshot a state comes after a gap,
// too: kGap, kState …, kSnapshotComplete S, records S+1 …. The first kState of a row, or a
// kSnapshotComplete without one, begins a state that replaces the one before.
//
// docs/reference/events.md shows what comes, item by item, for each start and each policy.
//
// Threads: one thread at a time, any thread; a call that overlaps one that waits is answered with
// kMisuse. interrupt() may be called at any time. A subscriber writes nothing that a publisher
// reads, and maps the ring read-only. No allocation and no system call while records are there to
// be read in the ring.
//
// A subscriber of chosen instruments (SubscriberOptions::instruments) delivers their records alone,
// and events as every other one. What it passes over counts as taken and ends no wait; a call with
// Deadline::now() passes over a limited number, so that a busy bus does not hold it.
//
// Fork: in a child that this process forks, the subscriber is another process's. Every call there
// answers kForked, arm() and live() are false, head(), lag() and durable() are 0, and the
// destructor does nothing. position(), counters() and ages() are those of the fork where no call
// was under way, and a subscriber that the child opens at position() goes on from there. This one
// notices nothing.
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

// A position that was stored somewhere (a recording, a cursor, a program's own file) and is to be
// continued.
struct StoredPosition {
  Id128 journal_id = {};
  Id128 session_id = {};
  Sequence sequence = kNoSequence;  // last one that was taken; the subscriber goes on after it

  // One line without blanks, <journal id>/<session id>/<sequence>, as docs/reference/file-formats.md says.
  [[nodiscard]] std::string text() const;
  // Reads what text() gives, and nothing else. Errors: kInvalidArgument.
  [[nodiscard]] static absl::StatusOr<StoredPosition> parse(std::string_view text);

  friend bool operator==(const StoredPosition&, const StoredPosition&) = default;
};

// Where a subscriber begins: made by the functions below. A member that its kind does not go by is
// refused.
struct Start {
  enum class Kind : std::uint32_t { kLive, kOldest, kSequence, kTime, kSnapshot, kAfter };

  Kind kind = Kind::kLive;
  std::uint64_t value = 0;  // sequence, or UTC ns
  // For kSnapshot and OnGap::kSnapshot: the name of a fold that Lapwing ships, empty for
  // default_fold(); or else own_fold, one of your own.
  std::string fold = {};
  std::shared_ptr<const Fold> own_fold = {};
  std::optional<StoredPosition> position = {};  // kAfter
  // The journal to begin in, for kOldest, kSequence and kTime (History::journals() lists them). By
  // default kOldest begins in the oldest journal that holds records, kSequence in the newest one,
  // and kTime in the one that was in use at that time. All later journals follow, each after a
  // kReset.
  std::optional<Id128> journal = {};

  static Start live() { return {}; }  // the next record to be published
  // What is missing before the first record is not reported, but with `instruments`, where no
  // sequence shows it.
  static Start oldest() { return {.kind = Kind::kOldest}; }
  static Start sequence(Sequence n) { return {.kind = Kind::kSequence, .value = n}; }
  // At or a little before.
  static Start time(std::uint64_t utc_ns) { return {.kind = Kind::kTime, .value = utc_ns}; }
  // The state as of the newest checkpoint of that fold that is good, then the record after it.
  static Start snapshot(std::string fold = "") {
    return {.kind = Kind::kSnapshot, .fold = std::move(fold)};
  }
  static Start snapshot(std::shared_ptr<const Fold> own_fold) {
    return {.kind = Kind::kSnapshot, .own_fold = std::move(own_fold)};
  }
  // Continues a stored position, also in a discarded journal. If its session or journal no longer
  // exists: kReset, then the oldest record.
  static Start after(const StoredPosition& position) {
    return {.kind = Kind::kAfter, .position = position};
  }
  // After the last commit of a cursor (lapwing/cursor.h), or `otherwise` where it has none.
  static Start resume(const Cursor& cursor, Start otherwise);
};

// What to do when the publisher laps this subscriber. Until kCaughtUp the policy does not matter:
// the history that was asked for is in the journal, and a lap during the join only leads back to
// it.
enum class OnGap : std::uint32_t {
  // Read it from the journal; what cannot be filled is reported as lost. Needs a journal: without
  // one the subscriber ends with kNoJournal.
  kFill = 1,
  kSkip = 2,  // report it, count it as lost, and go on in the ring
  kStop = 3,  // report it and end with kStoppedAtGap; position() is before the gap
  // Report it, deliver the state as of the newest checkpoint that is newer than the gap's
  // beginning, and go on after that: right again without reading all that was missed. Where there
  // is no such checkpoint, kNoSnapshot says why, and the gap is read from the journal. The fold is
  // that of `start`, which may name one with any kind of start, or else what default_fold() says.
  // Needs a journal, and records that the fold is for.
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
  // What the records have to be: schema_of<Record>() (lapwing/schema.h). The subscriber ends with
  // kRecordSize, in words that name the first field that differs, where mismatch() does.
  std::optional<Schema> expect = {};
  OnGap on_gap = OnGap::kFill;
  // Only records of these instruments; empty: all. A text is a symbol of the feed's metadata, even
  // if it consists of digits; "id:5930" is the instrument with that number. If a symbol was used
  // for several instruments, the record's time decides. The instrument is the field instrument_id,
  // or else the first unsigned number of the key (docs/reference/records.md). Entries of a state are chosen
  // by the record that they begin with. At each session, the subscriber ends with kInvalidArgument
  // if its records have no instrument, and with kNotFound if neither it nor a later session has the
  // symbol.
  std::vector<std::string> instruments = {};
  WaitStrategy wait = WaitStrategy::kBackoff;
  // After a clean close, be it before the join: true ends with kClosed, false waits for the next
  // session.
  bool end_at_close = false;
  // How long to wait for a bus or a publisher to come (back); kForever.
  std::chrono::nanoseconds reattach = std::chrono::seconds(30);
  // How long the publisher may take to make durable what was published before the join.
  std::chrono::nanoseconds flush_timeout = std::chrono::seconds(10);
  std::chrono::nanoseconds stale_after = kNever;  // without a record
  // This subscriber is behind while more than behind_records are published that it has not taken,
  // or one of them has been there for behind_time, as far as its calls have noticed. With either
  // one kBehind and kLive are delivered; without both, neither is. behind_records 0: not by number.
  std::uint32_t behind_records = 0;
  std::chrono::nanoseconds behind_time = kNever;
  // The age of every Nth record is measured when it is delivered, from ring or journal, if the
  // records have a time of publishing; ages() has the result. 0: of none. A record that is measured
  // costs a call and a reading of the clock; the others cost what they do without.
  std::uint32_t measure_every = 0;
  // How long a journal file that is not there is asked for again, before its records are lost.
  std::chrono::nanoseconds missing_file_grace = std::chrono::seconds(2);
  ThreadPlacement threads = {};  // of the library's own: fd() starts the only one
  // It only shows records to people: its gaps and losses are in its own row of `lapwing
  // subscribers`, and count neither in the bus's totals nor among its events.
  bool observes = false;
};

// What an event says. docs/reference/events.md shows what comes, item by item.
enum class EventKind : std::uint32_t {
  kGap = 1,       // Event::gap: what the ring did not give; fillable: the journal has it
  kLost = 2,      // Event::gap: what nothing can give; counted as lost. count() is 0 where a
                  // power cut took only records that this subscriber has already; text says so
  kSession = 3,   // a session begins at `sequence`: the first one, or the next. text, if any: its
                  // publisher has no place for another client, and what that means
  kReset = 4,     // another history: a new journal starts at `sequence`; text says why. With
                  // records that fold() is not for the subscriber ends instead
  kCaughtUp = 5,  // everything up to the join, `sequence`, has been delivered
  kStale = 6,     // the publisher lives but has been silent for stale_after
  kPublisherGone = 7,     // the publisher ended without closing; waiting for the next
  kClosed = 8,            // the session was closed cleanly after `sequence`; all was delivered
  kSnapshotComplete = 9,  // the state is complete, as of `sequence`; text says from which
                          // checkpoint, and which newer ones were passed over and why
  kNoSnapshot = 10,       // no checkpoint can be used, text says why; `sequence`, the oldest that
                          // is kept, comes first. What is before it is lost to a state.
                          // After a gap (Event::gap) the state stays as it is, and record
                          // `sequence` comes next
  kBehind = 11,           // it has fallen behind by behind_records or behind_time, without a gap;
                          // `sequence` is the one before the next, text says by how much
  kLive = 12,             // it has taken everything, or is at most half of its limits behind: the
                          // first time, and after each kBehind, kGap, kLost, kReset,
                          // kPublisherGone and kClosed. `sequence` is the one before the next
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

// What is not a record, whole: nothing of it has to be asked for elsewhere.
struct Event {
  EventKind kind = {};
  Sequence sequence = kNoSequence;
  Gap gap = {};  // kGap, kLost; of OnGap::kSnapshot also kSnapshotComplete and kNoSnapshot
  // Of the records that follow.
  std::uint32_t record_bytes = 0;
  // "bytes", too, where the bus says of its records what cannot be: a shipped schema's name and
  // another size, or a description of other records. So a cast by schema is safe; schema_note then
  // says what is wrong, or that the description cannot be read, and is empty otherwise.
  std::string schema_name = {};
  std::string schema_note = {};
  // Null: the records are not described. The same object for as long as it says the same.
  std::shared_ptr<const Schema> schema = {};
  Id128 journal_id = {};
  Id128 session_id = {};          // that published those records; not always the newest session
  bool is_first_session = false;  // kSession
  // Records of other instruments are passed over (SubscriberOptions::instruments): a jump in the
  // sequences says nothing about losses. kSession, kGap, kLost and kReset say all.
  bool is_filtered = false;
  // The bus has journals before this one, so sequence 1 of this one is not the beginning of the
  // feed.
  bool follows_journal = false;
  OnGap on_gap = OnGap::kFill;      // kGap: what is done about it
  std::string fold = {};            // of a state that was loaded
  std::uint64_t state_entries = 0;  // kSnapshotComplete: of the state
  // In words: why a reset or a loss, which checkpoint, how a session ended; of kCaughtUp, why what
  // was joined is not durable. Empty if it needs none.
  std::string text = {};
};

// What read_one() fills: a plain struct, and no view of one.
template <typename Record>
concept ReadableRecord =
    detail::PlainStruct<Record> && !std::convertible_to<Record&, std::span<std::byte>>;

enum class ItemKind : std::uint32_t { kRecord = 1, kState = 2, kEvent = 3 };

// What next() gives.
struct Item {
  ItemKind kind = {};
  Sequence sequence = kNoSequence;  // of an entry of a state its place, where the fold has one
                                    // (Fold::place_of), else 0
  std::span<const std::byte> record = {};  // kRecord, kState; valid until the next call
  const Event* event = nullptr;            // kEvent; likewise
  std::uint64_t conflated = 0;  // by a ConflatedReader: older ones of its key that it stands for

  [[nodiscard]] bool is(EventKind wanted) const {
    return event != nullptr && event->kind == wanted;
  }
  // A copy of the record; nothing where there is none, or where it has another size.
  template <ReadableRecord Record>
  [[nodiscard]] std::optional<Record> record_as() const {
    return kind == ItemKind::kRecord ? detail::copy_as<Record>(record) : std::nullopt;
  }
};

// What read() gives: rows, or one event. All rows are of one session, one size and one kind, and
// their sequences follow one another, but where they stand in a column beside the rows.
struct Batch {
  ItemKind kind = {};
  Sequence first = kNoSequence;                  // of the first record
  std::size_t count = 0;                         // rows
  std::uint32_t row_bytes = 0;                   // with kTooSmall, what a row needs
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
  std::uint64_t lost = 0;      // records: of kLost items, and of gaps that were skipped
  std::uint64_t in_state = 0;  // records after a gap that did not come, since a state has them
  std::uint64_t filled = 0;    // records of gaps that were delivered after all
  std::uint64_t duplicates = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t sessions = 0;  // seen, the first included
  std::uint64_t reattached = 0;
  std::uint64_t state = 0;  // entries of kState items, which are no records
  // Passed over, of other instruments: not in `records`. In `first`, `last` and `filled` as if they
  // had been delivered.
  std::uint64_t filtered = 0;
};

class Subscriber {
 public:
  // Checks the options. Waits for nothing: the bus is looked for by the calls that read.
  // Errors: kInvalidArgument.
  [[nodiscard]] static absl::StatusOr<Subscriber> open(SubscriberOptions options);
  Subscriber(Subscriber&&) noexcept;
  Subscriber& operator=(Subscriber&&) noexcept;
  ~Subscriber();

  // What the calls that read answer without a record or an event. Nothing came: kWouldBlock,
  // kTimedOut, kInterrupted. The call had no effect: kMisuse (another one is under way), kTooSmall
  // (the memory holds no row of Batch::row_bytes, or a column has no place), kEventDue,
  // kRecordSize of read_one. Everything else is the end and stays: kClosed after a clean close with
  // end_at_close, else the error of status(), which has the words.

  // The next record in place, or the next event. For busy waits better than a loop of one's own:
  // it looks at nothing but the next slot meanwhile. As read_one(), where that may wait: an
  // interrupt or a deadline that has passed is seen after some 1,000 such looks, about 30 us.
  [[nodiscard]] Result<Item> next(Deadline deadline = Deadline::never()) {
    if (path_->take_bytes(path_->place, looks(deadline))) [[likely]] {
      return Item{ItemKind::kRecord, path_->next - 1, {path_->place, path_->record_bytes}};
    }
    return next_further(deadline);
  }

  // Copies rows, end to end, as many as are there and fit; waits until there is one, or an event.
  // A reader that keeps up with a busy publisher first lets it get ahead for about a microsecond:
  // taking each line while it is written slows both down.
  [[nodiscard]] Result<Batch> read(std::span<std::byte> rows,
                                   Deadline deadline = Deadline::never());
  // The same with a column beside the rows, of which each gets its sequence; of a state, its place
  // (Item). No more rows than it has places. With `instruments` this fills a batch with records
  // that do not follow one another, of which the other read() gives one run at a time.
  [[nodiscard]] Result<Batch> read(std::span<std::byte> rows, std::span<Sequence> sequences,
                                   Deadline deadline = Deadline::never());

  // Copies the next record, and gives its sequence; `record` has the size of the bus's records.
  // kEventDue: an event or an entry of a state stands before it. kRecordSize: the bus has records
  // of another size; with `expect` it is the end. With Deadline::now() it does not wait for
  // records; while no bus is attached it may make system calls to look for one.
  [[nodiscard]] Result<Sequence> read_one(std::span<std::byte> record,
                                          Deadline deadline = Deadline::never()) {
    if (record.size() == path_->record_bytes && path_->take_bytes(record.data(), looks(deadline)))
        [[likely]] {
      return path_->next - 1;
    }
    return read_one_further(record, deadline);
  }
  // A record whose size the compiler knows: the fastest, without a call where the record is there
  // or comes soon.
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

  // The event that is due now. kWouldBlock: none is. kEventDue: an entry of a state is, which only
  // next() and read() give.
  [[nodiscard]] Result<Event> read_event();

  // Ends the wait that is under way, or else the next one. From any thread, also from a signal
  // handler.
  void interrupt() noexcept;

  // For an event loop: a descriptor, and whether it may be waited for. arm() true: nothing is there
  // now, and the descriptor becomes readable when there may be; that stands until the next call on
  // this object. False: read at once. Costs a helper thread once it is asked for.
  // Errors: kInvalidArgument for WaitStrategy::kBusy; kSystem, kLimit.
  [[nodiscard]] absl::StatusOr<int> fd();
  [[nodiscard]] bool arm();

  // From the first kState, kSnapshotComplete or kNoSnapshot on: the fold, otherwise null, and how
  // many entries the state has that was loaded last.
  [[nodiscard]] const std::shared_ptr<const Fold>& fold() const;
  [[nodiscard]] std::uint64_t state_size() const;
  // Of the session that was delivered last: from the first event on. "" and 0 before it.
  [[nodiscard]] const std::string& schema_name() const;
  [[nodiscard]] const std::shared_ptr<const Schema>& schema() const;  // null: not described
  [[nodiscard]] std::uint32_t record_bytes() const;
  [[nodiscard]] Id128 session_id() const;

  // Why nothing more will come: ok after a clean close with end_at_close; kPublisherGone
  // (it died or closed, and nobody came within `reattach`), kNoBus (nobody came at all),
  // kNoAnswer, kStoppedAtGap, kNoJournal, kRefused, …
  [[nodiscard]] const absl::Status& status() const;

  // The position to store; continue it with Start::after(). Behind the last record, loss or reset
  // that was delivered: store it once that is processed. In a start from a snapshot there is none
  // before kSnapshotComplete was delivered: its sequence is kNoSequence, since half a state is
  // nothing that could be continued. After a gap it stays before the gap until then.
  [[nodiscard]] StoredPosition position() const;
  // What is durable, as of now, of the history that position() is of: no power cut takes a record
  // up to here back. Never beyond what is left of the session that was read last, whatever the
  // next one has made durable. 0 before the first attachment and without a journal.
  [[nodiscard]] Sequence durable() const;
  // The newest record of the session that is being read, as of now, and how many records the
  // subscriber is behind it. 0 while no bus is attached. They read a word that the publisher writes
  // with every record.
  [[nodiscard]] Sequence head() const;
  [[nodiscard]] std::uint64_t lag() const;
  // Whether it reads the ring and, as of now, no more than behind_records are published that it has
  // not taken: a look at one slot, for each decision that has to rest on the newest data. False
  // while an event that a call has found waits to be read, and from a gap until the ring is reached
  // again. It knows nothing of a publisher that has gone or is silent: kPublisherGone and kStale
  // say so. Records of other instruments count, until a call has passed over them.
  [[nodiscard]] bool live() const { return path_->is_near_head(); }
  [[nodiscard]] SubscriberCounters counters() const;
  // Of the records that measure_every chose, since the beginning. Nothing as long as none could be
  // chosen: measure_every is 0, or no session was attached whose records have a time of publishing.
  [[nodiscard]] std::optional<Ages> ages() const;

 private:
  friend struct SubscriberAccess;
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  explicit Subscriber(StateHandle state);
  // At the next slot alone, before the call looks after anything else.
  std::uint32_t looks(Deadline deadline) const {
    return deadline == Deadline::now() ? 0 : path_->looks;
  }
  Result<Sequence> read_one_further(std::span<std::byte> record, Deadline deadline);
  Result<Item> next_further(Deadline deadline);
  StateHandle state_;
  detail::ReadPath* path_;  // state_'s
};

}  // namespace lapwing
