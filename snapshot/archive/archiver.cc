#include "snapshot/archive/archiver.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/system_error.h"
#include "snapshot/archive/block_writer.h"
#include "snapshot/archive/segment_pool.h"
#include "snapshot/archive/sync_cycle.h"
#include "snapshot/archive/sync_schedule.h"

namespace lapwing {
namespace {

// The part that a request belongs to, in the upper half of its tag.
enum class TagOwner : std::uint64_t { kWriter = 1, kCycle, kPool, kRetention };

constexpr std::uint64_t tags_of(TagOwner owner) {
  return static_cast<std::uint64_t>(owner) << 32;
}
constexpr TagOwner owner_of(std::uint64_t tag) {
  return static_cast<TagOwner>(tag >> 32);
}

static_assert(kSegmentSlotBytesMax / kPageBytes * sizeof(SumEntry) * kOpenSegmentsMin <=
              kSumMemoryBytesMax);

constexpr std::uint64_t kRateWindowNs = 100'000'000;
constexpr std::uint64_t kWaitNs = 100'000'000;  // a single wait while starting or closing

// Records per second over kRateWindowNs. Rises at once, and falls by a quarter per window.
class RateMeter {
 public:
  void observe(Sequence head, std::uint64_t now_ns) {
    if (window_ns_ == 0) {
      window_ns_ = now_ns;
      window_head_ = head;
    }
    const std::uint64_t elapsed_ns = now_ns - window_ns_;
    if (elapsed_ns < kRateWindowNs) return;
    const double rate =
        static_cast<double>(head - window_head_) * 1e9 / static_cast<double>(elapsed_ns);
    per_second_ = std::max(rate, per_second_ * 0.75);
    window_ns_ = now_ns;
    window_head_ = head;
  }
  std::uint64_t records_in(std::uint64_t seconds) const {
    return static_cast<std::uint64_t>(per_second_) * seconds;
  }

 private:
  std::uint64_t window_ns_ = 0;
  Sequence window_head_ = 0;
  double per_second_ = 0;
};

SegmentOptions segment_options(const ArchiverOptions& options) {
  const bool aligned = std::bit_cast<std::uintptr_t>(options.ring_slots) % kPageBytes == 0;
  return {options.journal, options.schema, options.file_permissions,
          options.try_direct_io && aligned,
          options.origin != nullptr ? WhenFull::kWait : WhenFull::kFail};
}

absl::Status check(const ArchiverOptions& options) {
  const JournalGeometry& geometry = options.journal.geometry;
  const bool sizes = geometry.slot_bytes == slot_bytes_for(geometry.record_bytes) &&
                     std::has_single_bit(geometry.segment_slots) &&
                     geometry.segment_bytes() >= kSegmentSlotBytesMin &&
                     std::has_single_bit(options.capacity) &&
                     options.capacity >= geometry.block_slots();
  if (sizes && options.first >= 1 && options.ring_slots != nullptr) return absl::OkStatus();
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat("an archiver of ", options.journal.directory, " with slots of ",
                   geometry.slot_bytes, " bytes, segments of ", geometry.segment_slots,
                   " slots and a ring of ", options.capacity, ": the sizes contradict each other"));
}

}  // namespace

struct Archiver::State {
  State(WriteQueue& queue_in, SessionLog& sessions_in, const ArchiverOptions& opts)
      : queue(queue_in),
        sessions(sessions_in),
        options(opts),
        pool(segment_options(opts), tags_of(TagOwner::kPool)),
        writer(pool, {opts.first, opts.capacity, opts.ring_slots, opts.origin,
                      tags_of(TagOwner::kWriter)}),
        cycle(pool, opts.first, tags_of(TagOwner::kCycle), opts.origin),
        schedule(opts.journal.geometry, opts.sync_interval_ns),
        retention(opts.journal, {opts.retention, opts.oldest, opts.file_permissions,
                                 tags_of(TagOwner::kRetention)}) {}

  absl::Status open();
  void give_back_unused(Sequence last);
  void drain();
  absl::Status prepare_first_segments();
  absl::Status prepare_through(std::uint64_t last);
  std::uint64_t reservation_step() const;

  void turn();
  std::size_t collect(std::uint64_t wait_ns);
  Sequence provable_max() const;
  SyncSchedule::Progress progress() const;
  SegmentDemand demand() const;
  std::uint64_t next_turn_ns() const;
  absl::Status reserve();
  absl::Status reserve_if_low();
  absl::Status check_names();
  void note_troubles();
  void log(LogEvent event, std::string message) const;
  void note(bool& was_noted, const std::string& what);
  void note_if_failed(const absl::Status& status, const char* what);

  void fail(JournalState state, const absl::Status& why);
  void record_failure();
  void record_end();
  void record_published();
  void finish();
  absl::Status wait_for_completion();
  std::string stall_report() const;

  bool good() const { return failure.ok(); }

  WriteQueue& queue;
  SessionLog& sessions;
  const ArchiverOptions options;
  SegmentPool pool;
  BlockWriter writer;
  SyncCycle cycle;
  SyncSchedule schedule;
  SegmentRetention retention;
  RateMeter rate;

  struct {
    Sequence head = 0;
    std::uint64_t ns = 0;  // CLOCK_MONOTONIC
    std::uint64_t wall_ns = 0;
  } now;  // as of the owner's last call
  Sequence reserved_through = 0;
  Sequence present_through = 0;  // end of the segments present at the start
  bool closing = false;
  std::uint64_t stalled_ns = 0;  // wait without a completion, while starting and closing

  std::uint64_t names_due_ns = 0;  // when the open files' names are next checked
  struct {
    bool index = false, retention = false, session_log = false, retention_file = false;
  } noted;  // problems already logged

  absl::Status failure;
  JournalCondition failed_condition;
  bool end_tried = false;
  std::array<WriteCompletion, 64> completions;
};

absl::StatusOr<std::unique_ptr<Archiver>> Archiver::start(WriteQueue& queue, SessionLog& sessions,
                                                          const ArchiverOptions& options) {
  if (const absl::Status status = check(options); !status.ok()) return status;
  std::unique_ptr<Archiver> archiver(
      new Archiver(std::make_unique<State>(queue, sessions, options)));
  State& state = *archiver->state_;
  if (const absl::Status status = state.open(); !status.ok()) {
    state.drain();
    state.give_back_unused(state.present_through);
    return status;
  }
  return archiver;
}

Archiver::Archiver(std::unique_ptr<State> state) : state_(std::move(state)) {}

Archiver::~Archiver() {
  state_->drain();
}

void Archiver::State::drain() {
  for (std::uint64_t silent_ns = 0; queue.in_flight() > 0;) {
    silent_ns = queue.reap(completions, kWaitNs) > 0 ? 0 : silent_ns + kWaitNs;
    if (silent_ns < kStallNsMax) continue;
    silent_ns = 0;
    log(LogEvent::kDiskSilent, stall_report());
  }
}

absl::Status Archiver::State::open() {
  now.head = options.first - 1;
  now.wall_ns = sessions.last() == nullptr ? 0 : sessions.last()->begin.wall_ns;
  const auto present = pool.open();
  if (!present.ok()) return present.status();
  const std::uint64_t segment = options.journal.geometry.segment_of(options.first);
  const bool there = std::ranges::binary_search(*present, segment);
  present_through = there ? now.head : options.journal.geometry.segment_first(segment) - 1;
  if (const absl::Status status = retention.open(*present, segment); !status.ok()) return status;
  const absl::Status added = retention.add_discarded(listed_journals(sessions.sessions()));
  if (!added.ok()) return added;
  if (const absl::Status status = prepare_first_segments(); !status.ok()) return status;
  if (const absl::Status status = writer.load_first_block(); !status.ok()) return status;
  return reserve();
}

// The first segment must exist, so it is prepared before later ones, which could take its space. If
// a later one fails, it is retried.
absl::Status Archiver::State::prepare_first_segments() {
  const std::uint64_t first = options.journal.geometry.segment_of(options.first);
  absl::Status status = prepare_through(first);
  if (status.ok()) status = prepare_through(first + kSegmentsAheadMin);
  return status;
}

absl::Status Archiver::State::prepare_through(std::uint64_t last) {
  const std::uint64_t first = options.journal.geometry.segment_of(options.first);
  do {
    pool.advance(queue, {first, last, first, options.first - 1}, now.ns, now.wall_ns);
    if (const absl::Status status = wait_for_completion(); !status.ok()) return status;
  } while (pool.preparing());
  return pool.failure();
}

std::uint64_t Archiver::step(Sequence head, std::uint64_t now_ns, std::uint64_t wall_ns,
                             std::uint64_t wait_ns) {
  State& state = *state_;
  state.now = {head, now_ns, wall_ns};
  const bool was_good = state.good();
  state.collect(0);
  if (state.good()) {
    state.turn();
  } else if (!was_good && !state.end_tried) {
    state.record_failure();
  }
  // Record a failure in the next step, so that the owner can publish it first.
  if (was_good != state.good()) return now_ns;
  const std::uint64_t next_ns = state.next_turn_ns();
  if (state.queue.in_flight() == 0) return next_ns;
  state.collect(std::min(wait_ns, next_ns - std::min(next_ns, now_ns)));
  return now_ns;
}

void Archiver::State::turn() {
  rate.observe(now.head, now.ns);
  pool.advance(queue, demand(), now.ns, now.wall_ns);
  if (!pool.failure().ok()) return fail(JournalState::kFailed, pool.failure());

  schedule.observe(progress(), now.ns);
  writer.submit(queue, now.head, schedule.partial_due(progress(), now.ns));
  const SyncSchedule::Progress seen = progress();  // the origin's durable may move at any time
  if (!cycle.active() && schedule.sync_due(seen, now.ns)) {
    schedule.begun(seen, now.ns);
    cycle.begin(seen.provable(), now.ns, now.wall_ns);
  }
  pool.set_oldest(retention.oldest());
  absl::Status status = cycle.advance(queue, now.ns);
  if (status.ok()) {
    retention.advance(queue, {cycle.durable(), now.ns, now.wall_ns, closing});
    status = reserve_if_low();
  }
  if (status.ok() && now.ns >= names_due_ns) status = check_names();
  if (!status.ok()) fail(JournalState::kFailed, status);
  note_troubles();
}

// Checks that the open files are still the files that the next start will find.
absl::Status Archiver::State::check_names() {
  names_due_ns = now.ns + kNamesCheckNs;
  pool.check_names(writer.submitted());
  if (!pool.failure().ok()) return pool.failure();
  // Retries the locks, because a reader's lock may have prevented them (os/file_lock.h).
  for (const FileHandle file : sessions.held_files()) {
    options.journal.disk->lock(file, 0).IgnoreError();
  }
  const std::vector<std::string> lost = sessions.lost_names();
  if (lost.size() > 1) {
    return make_system_error(
        ENOENT, absl::StrCat(lost[0], " and ", lost[1], " were removed or replaced (end the ",
                             "publisher, then `lapwing repair` rebuilds them from the segments)"));
  }
  if (lost.size() == 1) {
    note(noted.session_log,
         absl::StrCat(lost[0],
                      " was removed or replaced: the journal continues with the other copy,",
                      " and the next start rebuilds this one"));
  }
  if (retention.file_is_lost()) {
    const absl::Status restored = retention.restore_file();
    note(noted.retention_file,
         absl::StrCat(options.journal.directory, "/", kRetentionFileName,
                      " was removed or replaced and ",
                      restored.ok() ? "is made again"
                                    : absl::StrCat("cannot be made again: ", restored.message())));
  }
  return absl::OkStatus();
}

// Logs each problem that does not end the journal, but only once.
void Archiver::State::note_troubles() {
  if (cycle.index_failures() > 0) {
    note(noted.index, absl::StrCat("the time index has a hole: ", cycle.index_failure().message(),
                                   "; joins by time begin earlier than they need"));
  }
  if (retention.failed_count() > 0) {
    note(noted.retention,
         absl::StrCat("retention leaves a file behind: ", retention.failure().message()));
  }
}

void Archiver::State::note(bool& was_noted, const std::string& what) {
  if (!std::exchange(was_noted, true)) log(LogEvent::kJournalTrouble, what);
}

void Archiver::State::log(LogEvent event, std::string message) const {
  if (!options.log) return;
  options.log(log_entry(event, std::move(message), {{"path", options.journal.directory}}));
}

// Passes queued requests to the kernel and takes completions. Returns the number of completions.
std::size_t Archiver::State::collect(std::uint64_t wait_ns) {
  const std::size_t count = queue.reap(completions, wait_ns);
  for (const WriteCompletion& completion : std::span(completions).first(count)) {
    if (!good()) break;  // ignore completions after a failure
    switch (owner_of(completion.tag)) {
      case TagOwner::kWriter: {
        const absl::Status status = writer.complete(completion.tag, completion.result);
        if (!status.ok()) fail(JournalState::kFailed, status);
        break;
      }
      case TagOwner::kCycle:
        cycle.complete(completion.tag, completion.result);
        break;
      case TagOwner::kPool:
        pool.complete(completion.tag, completion.result);
        break;
      case TagOwner::kRetention:
        retention.complete(completion.tag, completion.result);
        break;
    }
  }
  return count;
}

// How far sums may prove the session. See invariant 6.
Sequence Archiver::State::provable_max() const {
  if (options.origin == nullptr) return kSequenceMax;
  const Sequence durable = options.origin->durable();
  if (writer.archived() <= durable) return durable;
  return std::max(options.journal.geometry.floor_block(durable), cycle.through());
}

SyncSchedule::Progress Archiver::State::progress() const {
  return {now.head, writer.submitted(), writer.archived(), cycle.through(), provable_max()};
}

SegmentDemand Archiver::State::demand() const {
  const JournalGeometry& geometry = options.journal.geometry;
  const std::uint64_t first = geometry.segment_of(writer.submitted() + 1);
  const std::uint64_t ahead = std::max(
      kSegmentsAheadMin, rate.records_in(kSegmentSecondsAhead) / geometry.segment_slots + 1);
  // During a close, do not prepare segments that no record will reach.
  const std::uint64_t last = closing ? geometry.segment_of(std::max(now.head, options.first))
                                     : first + std::min<std::uint64_t>(ahead, pool.size() / 2);
  const auto needed = closing ? first : writer.missing_segment();
  return {first, last, needed, writer.submitted()};
}

std::uint64_t Archiver::State::next_turn_ns() const {
  if (!good()) return end_tried ? UINT64_MAX : now.ns;
  return std::min({schedule.next_ns(progress(), now.ns), pool.retry_ns(), retention.next_ns()});
}

absl::Status Archiver::State::reserve_if_low() {
  const Sequence left = reserved_through - std::min(reserved_through, now.head);
  if (closing && now.head <= reserved_through) return absl::OkStatus();
  if (left > reservation_step() / 2) return absl::OkStatus();
  collect(0);  // queued requests proceed while this thread syncs
  return reserve();
}

absl::Status Archiver::State::reserve() {
  if (options.origin != nullptr) {
    reserved_through = kSequenceMax;
    return absl::OkStatus();
  }
  const Sequence through = options.journal.geometry.floor_block(now.head + reservation_step());
  const absl::Status status = sessions.append_reservation(through);
  if (status.ok()) reserved_through = through;
  return status;
}

std::uint64_t Archiver::State::reservation_step() const {
  const Sequence done = options.first - 1;
  return lapwing::reservation_step(options.capacity, rate.records_in(kReservationSeconds),
                                   std::max(now.head, done) - done);
}

void Archiver::State::fail(JournalState state, const absl::Status& why) {
  if (!good()) return;
  failed_condition = {state, errno_of(why)};
  failure =
      make_error(Errc::kJournalFailed, absl::StrCat("the journal in ", options.journal.directory,
                                                    " has failed: ", why.message(),
                                                    "; it keeps what is durable, and the next "
                                                    "session begins a new one"));
}

// Records the end before any sequence beyond the reservation is used. Otherwise, after a power cut,
// the next start would continue after the reservation, with sequences that subscribers have already
// seen.
void Archiver::State::record_failure() {
  end_tried = true;
  if (options.origin != nullptr) return;
  const absl::Status status =
      sessions.append_end(SessionEnd::kFailed, cycle.durable(), 0, failed_condition.sys_errno);
  if (status.ok()) return;
  failure = make_error(
      Errc::kJournalFailed,
      absl::StrCat(failure.message(), "; its end could not be recorded: ", status.message()));
  log(LogEvent::kJournalFailed, std::string(failure.message()));
}

// Stores the published end, so later readers can report records missing from the journal as lost.
void Archiver::State::record_published() {
  const absl::Status recorded = retention.record_published(now.head);
  if (recorded.ok()) return;
  log(LogEvent::kJournalTrouble,
      absl::StrCat(
          "later readers will not report records up to ", now.head,
          " as lost, because the last published record could not be stored: ", recorded.message()));
}

absl::Status Archiver::State::wait_for_completion() {
  if (queue.in_flight() == 0) return absl::OkStatus();
  stalled_ns = collect(kWaitNs) > 0 ? 0 : stalled_ns + kWaitNs;
  if (stalled_ns < kStallNsMax) return absl::OkStatus();
  return make_error(Errc::kTimedOut, absl::StrCat("the disk under ", options.journal.directory,
                                                  " has not completed a request for ",
                                                  kStallNsMax / 1'000'000'000, " s"));
}

std::string Archiver::State::stall_report() const {
  return absl::StrCat("the disk under ", options.journal.directory, " has ", queue.in_flight(),
                      " requests and has not completed one for another ",
                      kStallNsMax / 1'000'000'000,
                      " s. The process cannot end before it does. Check the disk (dmesg)");
}

// Makes everything up to head durable, including the indexes, and waits until nothing is in flight.
// For a session with an origin, head is what was submitted, because the rest may need space that a
// full disk does not have.
void Archiver::State::finish() {
  if (options.origin != nullptr) now.head = writer.submitted();
  schedule.request_flush(now.head);
  absl::Status status;
  const auto is_behind = [&] {
    return writer.archived() < now.head || cycle.durable() < progress().provable();
  };
  while (good() && status.ok() &&
         (is_behind() || cycle.active() || pool.preparing() || retention.syncing() ||
          queue.in_flight() > 0)) {
    turn();
    if (good()) status = wait_for_completion();
  }
  if (good() && status.ok()) cycle.begin_last();
  while (good() && status.ok() && cycle.active()) {
    status = cycle.advance(queue, now.ns);
    if (status.ok()) status = wait_for_completion();
  }
  if (good() && status.ok()) status = check_names();
  note_troubles();
  if (!status.ok()) return fail(JournalState::kFailed, status);
  if (!good()) return;
  give_back_unused(now.head >= options.first ? now.head : present_through);
}

// Removes segments beyond `last`, and releases the space after `last` in its own segment.
void Archiver::State::give_back_unused(Sequence last) {
  note_if_failed(pool.discard_beyond(last), "an unused segment stays behind");
  note_if_failed(pool.release_beyond(last),
                 "the last segment keeps the space that it has reserved");
}

// Logs a failure to clean up during the close. The next start uses what was left over.
void Archiver::State::note_if_failed(const absl::Status& status, const char* what) {
  if (status.ok()) return;
  log(LogEvent::kJournalTrouble,
      absl::StrCat(what, ": ", status.message(), "; the next start uses it"));
}

void Archiver::State::record_end() {
  if (good()) {
    end_tried = true;
    const absl::Status status = sessions.append_end(SessionEnd::kClosed, now.head);
    if (!status.ok()) fail(JournalState::kFailed, status);
  } else if (!end_tried) {
    record_failure();
  }
  if (!good()) record_published();
}

absl::Status Archiver::close(Sequence head, std::uint64_t wall_ns) {
  State& state = *state_;
  state.now.head = head;
  state.now.wall_ns = wall_ns;
  state.closing = true;
  if (state.good()) state.finish();
  if (state.options.origin == nullptr) state.record_end();
  return state.failure;
}

void Archiver::request_flush(Sequence through) {
  state_->schedule.request_flush(through);
}

void Archiver::request_prune(Sequence below) {
  state_->retention.request_prune(below, state_->cycle.durable());
}

bool Archiver::pruning() const {
  return state_->retention.pruning();
}

void Archiver::shed() {
  state_->fail(
      JournalState::kShed,
      make_error(
          Errc::kJournalFailed,
          "the disk was too slow, and the journal is set to be shed instead of waiting for it"));
}

Sequence Archiver::archived() const {
  return state_->writer.archived();
}
Sequence Archiver::durable() const {
  return state_->cycle.durable();
}
Sequence Archiver::oldest() const {
  return state_->retention.oldest();
}

Sequence Archiver::limit() const {
  const State& state = *state_;
  if (!state.good()) return state.end_tried ? kSequenceMax : state.reserved_through;
  return std::min(state.options.journal.geometry.floor_block(archived()) + state.options.capacity,
                  state.reserved_through);
}

JournalCondition Archiver::condition() const {
  return state_->good() ? JournalCondition{JournalState::kGood, 0} : state_->failed_condition;
}

const absl::Status& Archiver::failure() const {
  return state_->failure;
}

bool Archiver::end_recorded() const {
  const SessionRecord* const last = state_->sessions.last();
  return last != nullptr && last->end;
}

ArchiverCounters Archiver::counters() const {
  const State& state = *state_;
  return {.writes = state.writer.writes(),
          .bytes_written = state.writer.bytes_written(),
          .syncs = state.cycle.cycles(),
          .sync_ns_max = state.cycle.cycle_ns_max(),
          .sync_durations = state.cycle.durations(),
          .segments_prepared = state.pool.prepared_count(),
          .segment_waits = state.writer.segment_waits(),
          .segments_pruned = state.retention.removed_count(),
          .prune_failures = state.retention.failed_count(),
          .index_failures = state.cycle.index_failures()};
}

}  // namespace lapwing
