// The subscriber's state machine: follows one bus from wherever it joins, through gaps, a
// publisher's death and its return. docs/bootstrap.md is its specification.
//
//   phase      a turn                               leads to
//   ---------  -----------------------------------  -------------------------------------------
//   kSeeking   looks for a publisher that answers,  kFlushing          first time, with a journal
//              or for what one has left             kCatchUp, kLive    otherwise
//              (bus_search.h)                       kEnded             reattach_ns have passed
//   kFlushing  waits for F: everything up to the    kSnapshot          a state was asked for
//              join is durable (backlog.h)          kCatchUp, kLive    otherwise
//                                                   kEnded             no answer in time
//   kSnapshot  loads a slice of a checkpoint, or    kCatchUp, kLive    all is delivered, or there is
//              delivers an entry of it                                 none to be used
//              (snapshot_join.h)                    kEnded             no such fold
//   kCatchUp   reads the journal up to `archived`,  kLive    the ring holds the next record with
//              the ring for what lies beyond                 half its slots to spare
//              (catch_up.h)                         kSeeking a discarded journal is read to its end
//   kLive      reads the ring (read_cursor.h)       kCatchUp    lapped, and it is to be filled
//                                                   kSnapshot   lapped, and a state is to follow
//                                                   kSeeking    the session is read to its end
//                                                   kEnded      lapped, and the policy is stop
//   kEnded     says so
//
// A turn gives records, or announces an event into the outbox (outbox.h), or moves on. The calls,
// which take turns until they have what to return, are in follower.cc; the first three phases in
// follower_join.cc; the others in follower_stream.cc.
//
// Laps. Until `caught up` the history that was asked for is in the journal, so a lap during the
// join only leads back to it, whatever the policy (without a journal it is a gap at once). After
// that each lap is one gap with exact bounds, and the policy decides. Only reading the ring can be
// lapped: who is still in the journal after `caught up` stays there until the ring holds the next
// record.
//
// The end of a session. A closed socket, a silent heartbeat or the ring's `closed` only end the
// watch (publisher_watch.h); the ring is read once more after that, and the first empty read is the
// end (leave()).
//
// Discarded journals. After each search, choose_discarded() (starting_point.h) returns the
// discarded journal to read first, if any. It is an attachment without ring and publisher. At its
// end (leave_journal()) the search looks for the bus again, and the next journal in `sessions`
// follows.
//
// What has its place before a sequence (the next session, `caught up`) and the upkeep every
// kUpkeepRecords records share one comparison of the hot path, which is with the read path's limit:
// the cursor's attention, as it was when the path was opened. That is the first of them, and 0 while
// there is an event in the outbox.
//
// The path leaves a record whose age is measured (age_meter.h) to a call: its limit is the first of
// them, if that comes before the attention. Every record that a call delivers passes measure().
//
// A filter (SubscriberOptions::instruments). Turns read records into the block. What is in front of
// it and of other instruments is passed over (pass_over()); what is in front then is given. The
// attention is 1 at most, and no sequence is below 1: so no record leaves the ring in another way,
// neither on the read path nor by a call that spares itself a turn. The path is open all the same,
// as live() asks whether it is.
//
// In a wait set (os/wait_source.h) the follower is asked by is_ready(), which takes the turns of poll()
// without giving what they find, and sleeps on the ring's doorbell as a wait of its own does. Where
// there is no ring to wait for, a set has it look every kSeekingTickNs.
//
// Thread safety: one thread, but for the descriptor's helper (wake_descriptor.h).
// Ownership: owns the attachment; kEnded has closed everything but the descriptor.
// Errors: end the subscriber with a status; never thrown, never silent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/detail/publish_clock.h"
#include "lapwing/subscriber.h"
#include "os/interrupt.h"
#include "os/wait_source.h"
#include "subscribers/age_meter.h"
#include "subscribers/attachment.h"
#include "subscribers/backlog.h"
#include "subscribers/bus_search.h"
#include "subscribers/call_wait.h"
#include "subscribers/catch_up.h"
#include "subscribers/instrument_filter.h"
#include "subscribers/liveness.h"
#include "subscribers/outbox.h"
#include "subscribers/place_request.h"
#include "subscribers/publisher_watch.h"
#include "subscribers/read_cursor.h"
#include "subscribers/record_block.h"
#include "subscribers/reporter.h"
#include "subscribers/session_trail.h"
#include "subscribers/snapshot_join.h"
#include "subscribers/starting_point.h"
#include "subscribers/wake_descriptor.h"

namespace lapwing {

inline constexpr std::uint64_t kUpkeepRecords = 4096;  // delivered between two looks at the clock
inline constexpr std::uint32_t kSpins = 64;            // empty polls between two looks at the clock
inline constexpr std::uint32_t kLooks = 1024;          // of a call that waits, before any of that
inline constexpr std::uint64_t kCatchUpPauseNs = 1'000'000;  // for the archiver to catch up
// For a record, where the publisher has no place for this subscriber and rings no bell for it.
inline constexpr std::uint64_t kUnheardPauseNs = 1'000'000;
inline constexpr std::uint64_t kInterruptPauseNs = 20'000'000;  // where nothing wakes a sleep
inline constexpr int kTurnsMax = 16;                            // changes of phase within one call

// Where read() puts rows: end to end, and their sequences into a column, if there is one.
struct RowSpace {
  std::span<std::byte> bytes;
  std::optional<std::span<Sequence>> sequences = {};

  std::size_t places(std::size_t row_bytes) const {
    const std::size_t rows = bytes.size() / row_bytes;
    return sequences ? std::min(rows, sequences->size()) : rows;
  }
  std::span<std::byte> from(std::size_t row, std::size_t row_bytes) const {
    return bytes.subspan(row * row_bytes, (places(row_bytes) - row) * row_bytes);
  }
  // Of `count` rows from `row` on.
  void number(std::size_t row, std::size_t count, Sequence first) const {
    for (std::size_t i = 0; sequences && i < count; ++i) (*sequences)[row + i] = first + i;
  }
};

// How far the first join has come.
enum class Join : std::uint32_t {
  kNotYet,
  kAttached,
  kIntroduced,  // the first session was announced
  kFloating,    // the same; live without a publisher, so the stream begins with the next session
};

class Follower final : public WaitSource {
 public:
  // `interrupt`, if there is one, takes the place of its own, and outlives it.
  explicit Follower(SubscriberOptions options, Interrupt* interrupt = nullptr)
      : options_(std::move(options)), calls_(options_.wait, interrupt) {
    cursor_.behind_records = options_.behind_records;
    if (!options_.instruments.empty()) filter_.emplace(options_.instruments);
  }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // As the public calls of the same names; the words of an event are text().
  // What comes at once, or soon, is taken on the path, and not here.
  detail::ReadPath& path() { return cursor_; }
  Result<Due> next(std::uint64_t deadline_ns);
  Result<Sequence> read_one(std::span<std::byte> record, std::uint64_t deadline_ns);
  Result<Due> read_event();
  // The rows that are there now, if there are any: false where read() has more to do.
  bool read_records(std::span<std::byte> rows, Result<Batch>& batch);
  // The same with a column.
  bool read_records(const RowSpace& rows, Result<Batch>& batch);
  // After read_records() gave false. Without the event itself: `due` is it.
  Result<Batch> read(const RowSpace& rows, std::uint64_t deadline_ns, Due& due);
  void interrupt() noexcept { calls_.raise(); }
  bool arm();
  // The publisher rings only for those that may park.
  bool can_sleep() const override { return may_park(options_.wait); }
  bool is_ready() override;
  std::optional<WakeUp> prepare_wait() override;
  void finish_wait() override;
  // In a forked child: it has ended, with kForked. Changes single words only, wherever another
  // thread of the parent was; position() and counters() stay, and nothing that is mapped is read.
  void end_in_child() noexcept;
  // Of the session that is read; 0 while there is none.
  Sequence head() const { return attachment_ ? attachment_->newest() : kNoSequence; }
  Sequence next_sequence() const { return cursor_.next; }

  std::uint32_t record_bytes() const { return cursor_.record_bytes; }
  const RecordIdentity& records() const { return records_; }
  const std::shared_ptr<const Fold>& fold() const { return fold_; }
  std::uint64_t state_size() const { return state_size_; }
  const absl::Status& status() const { return status_; }
  bool is_filtered() const { return filter_.has_value(); }
  bool follows_journal() const { return follows_journal_; }
  OnGap on_gap() const { return options_.on_gap; }
  // Of the event that was delivered last.
  const std::string& text() const { return outbox_.text(); }
  const Gap& gap() const { return outbox_.gap(); }
  StoredPosition position() const;
  Sequence durable() const;
  Id128 session_id() {
    const Turning turning(*this);
    return trail_.empty() ? Id128{} : trail_.session_of(counters().last);
  }
  // With all that was taken since the path was opened.
  SubscriberCounters counters_now() {
    const Turning turning(*this);
    return counters();
  }
  // Without it.
  const SubscriberCounters& counters() const { return cursor_.ledger.counters(); }
  const std::optional<Ages>& ages() const { return meter_.ages(); }
  const Id128& journal_id() const { return trail_.journal_id(); }
  // The session of the records that are delivered now. It may be older than the attachment's.
  const Id128& current_session() const {
    return trail_.empty() ? joined_session_ : trail_.current();
  }
  absl::StatusOr<int> descriptor();

 private:
  // Of a call that does more than take a record that is there: closes the path, and opens it again.
  // One that comes while another rests is refused, and leaves the path alone.
  class Turning {
   public:
    explicit Turning(Follower& follower)
        : follower_(follower), is_refused_(follower.calls_.another_rests()) {
      if (!is_refused_) follower_.cursor_.close();
    }
    ~Turning() {
      if (!is_refused_ && (follower_.block_.empty() || follower_.filter_)) follower_.open_path();
    }
    bool is_refused() const { return is_refused_; }
    Turning(const Turning&) = delete;
    Turning& operator=(const Turning&) = delete;

   private:
    Follower& follower_;
    const bool is_refused_;
  };

  // Who parks, or has backed off that far, does not look in vain first.
  void open_path() {
    cursor_.open(calls_.waiter().spinning() && !liveness_.is_awaited() ? kLooks : 0);
  }

  // Where a record is read that a caller then reads by wider moves.
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  // An event that was taken is the next one again.
  void put_back(const Due& due) {
    outbox_.put_back(due);
    cursor_.attention = 0;
  }
  // What a turn gave: how many records in the caller's memory, not counted yet, or nothing for now.
  // Without a value it has only moved the machine on, or announced an event: take another turn.
  using Turn = std::optional<std::uint64_t>;
  static Turn again() { return std::nullopt; }
  static Turn nothing() { return 0; }

  Due poll();
  bool advance();
  void pass_over();
  bool looks_again(std::uint64_t deadline_ns);
  Due wait_closed(std::uint64_t deadline_ns);
  void begin_waiting();
  std::size_t poll_batch(std::span<std::byte> out);
  Due deliver(const std::byte* record);
  void deliver(Batch& batch, std::span<const std::byte> rows, std::size_t count);
  // Records first … last, in `rows`, are delivered now.
  void measure(Sequence first, Sequence last, std::span<const std::byte> rows) {
    if (last >= cursor_.measured_from) [[unlikely]]
      measure_due(first, rows);
  }
  // Apart, so that the others need no registers for it.
  [[gnu::cold, gnu::noinline]] void measure_due(Sequence first, std::span<const std::byte> rows);
  void await_measured(std::uint64_t deadline_ns);
  void read_state(const RowSpace& rows, const Due& first, Batch& batch);
  void read_chosen(const RowSpace& rows, const Due& first, Batch& batch);
  bool event_is_due();
  // Rows of the first session, and of every one after it, are given as they come.
  bool is_introduced() const { return join_ >= Join::kIntroduced; }
  bool gives_all() const { return is_introduced() && !filter_; }
  Errc why_ended() const {
    if (cursor_.phase == Phase::kForked) return Errc::kForked;
    return status_.ok() ? Errc::kClosed : errc_of(status_);
  }
  Turn turn(std::span<std::byte> out);
  Turn announce(EventKind kind, Sequence sequence, std::string text = {}, const Gap& gap = {});
  Due deliver_event();
  bool reach_place();
  Turn introduce(Sequence first);
  void set_attention();

  // One function for each phase; kEnded needs none.
  Turn on_seeking();
  Turn on_flushing();
  Turn on_snapshot();
  Turn on_catch_up(std::span<std::byte> out);
  Turn on_live(std::span<std::byte> out);

  // Joining and coming back: follower_join.cc.
  Turn on_found(Attachment found);
  Turn on_attached(Attachment found);
  absl::Status check_fits(const Attachment& found);
  void keep_description(const std::shared_ptr<const Schema>& before);
  Turn join();
  Turn begin();
  Turn begin_at(StartingPoint start);
  void rejoin();
  void start_over(std::string why);
  void pass_over_void();
  absl::Status check_instruments(const Attachment& found);
  absl::Status choose_instruments(const Id128& session_id);
  void enter_stream();
  Turn begin_snapshot(const std::optional<Gap>& gap);
  Turn deliver_state();
  Turn go_on_after_state(Sequence as_of, const Gap& gap, std::string text);
  Turn without_snapshot();
  Turn fill_instead(const Gap& gap, std::string why);

  // Laps, holes and the end of a session: follower_stream.cc.
  Turn on_lap(const RingReadResult& read);
  void end_at_gap(const Gap& gap);
  bool may_be_filled(Sequence first, Sequence last, GapCause cause) const;
  Turn on_hole(CatchUp::Read hole);
  std::string void_text(Sequence first, Sequence last) const;
  bool joining_from_oldest() const;
  Turn on_idle();
  bool tell_liveness(std::uint64_t now_ns);
  void report(std::uint64_t now_ns);
  void ask_for_place(std::uint64_t now_ns);
  ClientState client_state() const;
  Turn leave();
  Turn leave_journal();
  Turn end(absl::Status status);
  void close_everything();

  // Waiting: follower.cc.
  // Of a phase that reads no ring: until when, and what may end it earlier (-1: nothing).
  struct Pause {
    std::uint64_t until_ns;
    int fd = -1;
  };
  // How long it may sleep on the doorbell.
  std::uint64_t doze_ns() const {
    return attachment_->control() != nullptr ? kParkNsMax : kUnheardPauseNs;
  }
  bool spin();
  bool rest(std::uint64_t deadline_ns);
  std::optional<Pause> pause_from(std::uint64_t now_ns);
  // A start in the future, or a batch whose head has not moved yet, waits for head to move at all.
  Sequence seen_in_ring() const { return std::min(cursor_.next - 1, cursor_.ring->head()); }
  // What comes next is not up to this process, and looking for it may cost a system call.
  bool waits_for_others() const {
    return cursor_.phase == Phase::kSeeking || cursor_.phase == Phase::kFlushing ||
           cursor_.phase == Phase::kCatchUp;
  }
  void arm_descriptor();

  JournalReader* journal() const { return attachment_->journal(); }

  // For each record.
  ReadCursor cursor_;
  // For each call that reads.
  std::uint32_t spins_left_ = 0;  // empty polls that need no turn: on_idle
  RecordBlock block_;  // records of the journal, and of the turn before; the path is closed then
  std::vector<Line> place_;  // for a record of the ring that is handed out where it is

  const SubscriberOptions options_;
  std::optional<InstrumentFilter> filter_;

  // The session.
  std::optional<Attachment> attachment_;  // in every phase but kSeeking and kEnded
  SessionTrail trail_;
  Id128 session_id_;
  bool follows_journal_ = false;  // as of the attachment
  Id128 joined_session_;          // while there is no trail: of the first record after the state
  // The session of which kPublisherGone was delivered last, and its sequence.
  std::pair<Id128, Sequence> gone_said_ = {Id128{}, kNoSequence};
  RecordIdentity records_;  // of the session that is read
  PublisherWatch watch_{options_.stale_after};
  Liveness liveness_{options_};
  CatchUp catch_up_{options_.missing_file_grace};

  // The join.
  Join join_ = Join::kNotYet;
  Backlog backlog_{options_};
  std::optional<SnapshotJoin> snapshot_;  // kSnapshot
  std::shared_ptr<const Fold> fold_;
  std::uint64_t state_size_ = 0;

  // Between sessions.
  BusSearch search_{options_};
  PlaceRequest place_request_;

  Outbox outbox_;
  Sequence durable_when_left_ = 0;   // of the session that was left last
  StoredPosition before_beginning_;  // position() until the outbox's beginning is delivered
  absl::Status status_;

  CallWait calls_;
  std::optional<CallWait::Rest> set_rest_;  // while a wait set sleeps
  std::uint64_t records_waited_ = 0;        // delivered when the last wait began

  // Of records whose age is measured.
  AgeMeter meter_{options_.measure_every};
  detail::PublishClock clock_;

  // Upkeep.
  Reporter reporter_{options_.wait, options_.on_gap};
  std::unique_ptr<WakeDescriptor> descriptor_;
};

}  // namespace lapwing
