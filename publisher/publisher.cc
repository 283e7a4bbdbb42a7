#include "lapwing/publisher.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/ring_writer.h"
#include "os/fork.h"
#include "proto/text_field.h"
#include "publisher/closing_threads.h"
#include "publisher/gate_wait.h"
#include "publisher/publisher_options.h"
#include "publisher/session_closer.h"
#include "snapshot/schema/first_difference.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kHeadStrideParts = 4;  // of the ring

SubscriberInfo info_of(const SubscriberInfoFrame& frame) {
  SubscriberInfo info;
  info.name = get_text(frame.name);
  info.pid = frame.pid;
  info.uid = frame.uid;
  info.reads = frame.role == ClientRole::kSubscriber;
  info.may_park = frame.may_park != 0;
  info.reported = frame.reported != 0;
  info.position = frame.position;
  info.head_seen = frame.head_seen;
  info.records = frame.records;
  info.gaps = frame.gaps;
  info.lost = frame.lost;
  info.filled = frame.filled;
  info.connected_wall_ns = frame.connected_wall_ns;
  info.reported_wall_ns = frame.reported_wall_ns;
  return info;
}

}  // namespace

struct Publisher::State : detail::PublishPath {
  StartedSession session;  // before the parts, which borrow from it
  JournalGate gate;        // outlives the file thread: interrupt() may ring it any time
  PublisherControl control;
  GateWait waits;
  SessionCloser closer;
  // Used only by the publishing thread, like PublishPath.
  // A batch moves head at least once every this many records (required by stamp_is_corrupt in
  // proto/slot_stamp.h).
  const std::uint64_t head_stride;
  std::vector<std::uint32_t> checked_tags;  // tags of described types that fit this bus
  std::uint64_t idle_wakes = 0;
  ForkWatch fork;

  explicit State(StartedSession started)
      : PublishPath{writer_of(*started.ring),
                    started.begin.first - 1,
                    0,
                    {},
                    started.ring->header().record_bytes},
        session(std::move(started)),
        control(session, gate, attention),
        waits(session, *this, gate, control.file_thread()),
        closer(session, control, gate),
        head_stride(session.ring->header().capacity / kHeadStrideParts),
        fork(*this, "publisher") {}

  // Forces the publish path into its cold branches, which check `fork` first.
  void on_child() noexcept {
    limit = 0;
    attention.raise(kServiceSleeper);
  }

  RingWords& words() const { return session.ring->words(); }
  // The number of the next `wanted` records that the journal already admits.
  std::uint64_t allowed(std::uint64_t wanted) const {
    const std::uint64_t room = limit > head ? limit - head : 0;
    return room < wanted ? room : wanted;
  }
  // Completes a publish after record n has been stored in its slot.
  [[gnu::always_inline]] Sequence finish(Sequence n) {
    announce(n);
    return attention.is_raised() ? attend() : n;
  }
  bool admit(Sequence n, Deadline deadline) { return !fork.in_child() && waits.admit(n, deadline); }
  Sequence publish(std::span<const std::byte> record, Deadline deadline);
  [[gnu::cold]] Errc why_not_published() const;
  [[gnu::cold]] Sequence refuse_size(std::size_t bytes);
  absl::Status check_type(const Schema& given) const;
  Sequence publish_by_call(Sequence n, const std::byte* record);
  Sequence publish_beyond_limit(Sequence n, const std::byte* record, Deadline deadline);
  void store_run(const std::byte* record, std::uint64_t count);
  [[gnu::cold]] Sequence attend();
  static void close_in_thread(const std::shared_ptr<State>& state);
};

// Stores `count` contiguous records and moves head past them.
void Publisher::State::store_run(const std::byte* record, std::uint64_t count) {
  const std::uint32_t record_bytes = writer.record_bytes();
  for (const Sequence last = head + count; head < last; record += record_bytes) {
    store_record(writer, ++head, record);
  }
  writer.move_head(head);
}

// Called when a sleeper must be woken, or when the journal has ended and publishing may have to
// end. Returns head.
Sequence Publisher::State::attend() {
  if (fork.in_child()) return kNoSequence;  // from a batch without records
  if (closer.has_begun()) return head;      // during a close: the threads are ending
  const std::uint32_t bits = attention.take();
  idle_wakes += static_cast<std::uint64_t>(std::popcount(bits));
  store_count(words().idle_wakes, idle_wakes);
  if ((bits & kServiceSleeper) != 0) control.service_thread().sleeper().signal();
  if ((bits & kFileSleeper) == 0) return head;
  control.file_thread()->sleeper().signal();
  waits.end_if_failed();
  return head;
}

absl::StatusOr<Publisher> Publisher::open(PublisherOptions options, Deadline deadline) {
  PublisherSetUp set_up{std::move(options)};
  const std::uint64_t now_ns = monotonic_ns();
  set_up.take_over_ns = deadline.monotonic_ns() - std::min(now_ns, deadline.monotonic_ns());
  return open_with_seams(std::move(set_up));
}

// Gives the library, but not programs, access to a Publisher.
struct PublisherAccess {
  static absl::StatusOr<Publisher> open(StartedSession session) {
    const std::shared_ptr<Publisher::State> state(
        new Publisher::State(std::move(session)),
        [](Publisher::State* made) { delete_unless_forked(made, made->fork); });
    sessions_closing();  // creates its statics before a fork can find them half-created
    state->session.options->on_step("open-socket");
    if (absl::Status started = state->control.start(); !started.ok()) {
      state->closer.begin();
      state->closer.run();
      return started;
    }
    return Publisher(state);
  }
};

absl::StatusOr<Publisher> open_with_seams(PublisherSetUp set_up) {
  if (absl::Status valid = settle_options(set_up); !valid.ok()) return valid;
  set_up.log = set_up.log_mark.around(std::move(set_up.log));
  absl::StatusOr<StartedSession> session = start_session(std::move(set_up));
  if (!session.ok()) return session.status();
  return PublisherAccess::open(*std::move(session));
}

Publisher::Publisher(std::shared_ptr<State> state)
    : state_(std::move(state)), path_(state_.get()) {}
Publisher::Publisher(Publisher&&) noexcept = default;

Publisher& Publisher::operator=(Publisher&& other) noexcept {
  if (this == &other) return *this;
  leave();
  state_ = std::move(other.state_);
  path_ = other.path_;
  return *this;
}

Publisher::~Publisher() {
  leave();
}

void Publisher::leave() {
  if (state_ == nullptr || state_->fork.in_child()) return;
  if (state_->closer.leave()) State::close_in_thread(state_);
}

// The hot path. Cold parts and calls are in tail position, so the compiler needs no stack frame
// here. A publish waits for its stores, and pushing a register is a store.
[[gnu::always_inline]] inline Sequence Publisher::State::publish(std::span<const std::byte> record,
                                                                 Deadline deadline) {
  // Publishing a shorter record would read beyond its memory.
  if (record.size() != writer.record_bytes()) [[unlikely]] {
    return refuse_size(record.size());
  }
  const Sequence n = head + 1;
  if (!admits_next()) [[unlikely]] {
    return publish_beyond_limit(n, record.data(), deadline);
  }
  if (store_record_inline(writer, n, record.data())) [[likely]] {
    return finish(n);
  }
  return publish_by_call(n, record.data());
}

// Two overloads, so that a call without a deadline passes no argument for it.
Sequence Publisher::publish_bytes(std::span<const std::byte> record) {
  return state_->publish(record, Deadline::never());
}
Sequence Publisher::publish_bytes(std::span<const std::byte> record, Deadline deadline) {
  return state_->publish(record, deadline);
}

Errc Publisher::State::why_not_published() const {
  return fork.in_child() ? Errc::kForked : errc_of(waits.last_error());
}

[[gnu::noinline]] Sequence Publisher::State::refuse_size(std::size_t bytes) {
  waits.refuse(make_error(
      Errc::kRecordSize,
      absl::StrCat(bytes, " bytes cannot be published: records of this bus have ",
                   writer.record_bytes(), ". Publish whole records; nothing was published")));
  return kNoSequence;
}

absl::Status Publisher::State::check_type(const Schema& given) const {
  const std::string& text = session.description.description;
  if (text.empty() || given.record_bytes != writer.record_bytes()) return absl::OkStatus();
  const absl::StatusOr<Schema> bus = Schema::parse(text);
  if (!bus.ok()) return bus.status();
  std::string why = first_difference(*bus, given);
  if (why.empty() && bus->name == given.name) return absl::OkStatus();
  if (why.empty()) why = "the fields are the same, and the names of the schemas differ";
  return make_error(
      Errc::kRecordSize,
      absl::StrCat("cannot publish a ", given.name, " on a bus of ", bus->name, ": ", why,
                   ". Publish the struct that the bus was opened with, or open another bus."));
}

bool Publisher::accept(std::uint32_t tag, Schema (*describe)()) {
  State& state = *state_;
  if (state.fork.in_child() || state.waits.is_waiting()) return true;
  if (describe == nullptr) {
    if (tag == state.writer.record_bytes()) state.accepted_tag = tag;
    return true;
  }
  if (std::ranges::find(state.checked_tags, tag) == state.checked_tags.end()) {
    const Schema given = describe();
    if (absl::Status fits = state.check_type(given); !fits.ok()) {
      return state.waits.refuse(std::move(fits));
    }
    if (given.record_bytes != state.writer.record_bytes()) return true;  // publish() refuses it
    state.checked_tags.push_back(tag);
  }
  state.accepted_tag = tag;
  return true;
}

// Stores a record whose size needs a function call.
[[gnu::noinline]] Sequence Publisher::State::publish_by_call(Sequence n, const std::byte* record) {
  store_record(writer, n, record);
  return finish(n);
}

// Cold: n is beyond the last known limit.
[[gnu::noinline]] Sequence Publisher::State::publish_beyond_limit(Sequence n,
                                                                  const std::byte* record,
                                                                  Deadline deadline) {
  return admit(n, deadline) ? publish_by_call(n, record) : kNoSequence;
}

Result<Sequence> Publisher::publish_batch(std::span<const std::byte> records, Deadline deadline) {
  State& state = *state_;
  const Sequence before = state.head;
  const std::size_t record_bytes = state.writer.record_bytes();
  if (records.size() % record_bytes != 0) [[unlikely]] {
    state.refuse_size(records.size());
    return state.why_not_published();
  }
  const std::byte* record = records.data();
  for (std::uint64_t left = records.size() / record_bytes; left > 0;) {
    const std::uint64_t run = std::min({left, state.head_stride, state.allowed(left)});
    if (run == 0) [[unlikely]] {
      if (state.admit(state.head + 1, deadline)) continue;
      if (state.attention.is_raised()) state.attend();  // for the records already stored
      return {state.why_not_published(), state.head > before ? state.head : kNoSequence};
    }
    state.store_run(record, run);
    record += run * record_bytes;
    left -= run;
  }
  if (state.attention.is_raised()) state.attend();
  if (state.fork.in_child()) return Errc::kForked;
  return state.head;
}

Sequence Publisher::attend() {
  return state_->attend();
}

Errc Publisher::why_not_published() const {
  return state_->why_not_published();
}

const absl::Status& Publisher::status() const {
  return state_->fork.in_child() ? state_->fork.error() : state_->waits.status();
}

const absl::Status& Publisher::last_error() const {
  return state_->fork.in_child() ? state_->fork.error() : state_->waits.last_error();
}

absl::Status Publisher::flush(Deadline deadline) {
  State& state = *state_;
  if (state.fork.in_child()) return state.fork.error();
  return state.closer.has_begun() ? state.waits.status() : state.waits.flush(deadline);
}

void Publisher::State::close_in_thread(const std::shared_ptr<State>& state) {
  state->waits.end(make_error(Errc::kClosed, "the publisher was closed"));
  run_closing([state] { state->closer.run(); }, state->session.options->threads);
}

absl::Status Publisher::close(Deadline deadline) {
  State& state = *state_;
  if (state.fork.in_child()) return state.fork.error();
  if (absl::Status may = state.waits.check_may_wait(); !may.ok()) return may;
  if (state.closer.begin()) State::close_in_thread(state_);
  absl::Status waited =
      state.waits.wait_for_close([&] { return state.closer.is_over(); }, deadline);
  return waited.ok() ? state.closer.result() : waited;
}

void Publisher::interrupt() noexcept {
  state_->waits.interrupt();
}

std::uint32_t Publisher::record_bytes() const {
  return state_->writer.record_bytes();
}
Sequence Publisher::first() const {
  return state_->session.begin.first;
}
Sequence Publisher::head() const {
  return state_->fork.in_child() ? state_->head : load_head(state_->words());
}
Sequence Publisher::durable() const {
  return state_->fork.in_child() ? kNoSequence : load_durable(state_->words());
}
Id128 Publisher::session_id() const {
  return state_->session.ring->header().session_id;
}
Id128 Publisher::journal_id() const {
  return state_->session.ring->header().journal_id;
}
LastSession Publisher::last_session() const {
  const Settled& settled = state_->session.settled;
  LastSession last{.how = settled.how};
  if (settled.new_void) std::tie(last.void_first, last.void_last) = *settled.new_void;
  return last;
}
std::uint64_t Publisher::source_offset() const {
  return state_->session.begin.source_offset;
}
std::size_t Publisher::subscriber_count() const {
  return state_->fork.in_child() ? 0 : state_->control.service_thread().subscriber_count();
}
JournalCondition Publisher::journal() const {
  if (state_->fork.in_child()) return {};
  return load_journal_condition(state_->words());
}

PublisherCounters Publisher::counters() const {
  PublisherCounters counters = state_->waits.counters();
  counters.idle_wakes = state_->idle_wakes;
  counters.doorbells = state_->control.service_thread().doorbells();
  return counters;
}

std::vector<SubscriberInfo> Publisher::subscribers() const {
  std::vector<SubscriberInfo> list;
  if (state_->fork.in_child()) return list;  // the service thread may have held the lock
  for (const SubscriberInfoFrame& frame : state_->control.service_thread().subscribers()) {
    list.push_back(info_of(frame));
  }
  return list;
}

}  // namespace lapwing
