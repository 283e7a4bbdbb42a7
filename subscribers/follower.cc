// The subscriber's calls: how records and events are handed out, and how a call waits for them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "subscribers/follower.h"

namespace lapwing {

Result<Due> Follower::next(std::uint64_t deadline_ns) {
  const Turning turning(*this);
  if (turning.is_refused()) return Errc::kMisuse;
  await_measured(deadline_ns);
  const Due due = wait_closed(deadline_ns);
  if (due.kind == DueKind::kNothing) return calls_.why_nothing(deadline_ns);
  if (due.kind == DueKind::kEnd) return why_ended();
  return due;
}

// A record that is measured comes to a call that waits as soon as another one comes to the path:
// before anything else is looked after.
void Follower::await_measured(std::uint64_t deadline_ns) {
  const bool is_left_by_path = cursor_.next >= cursor_.measured_from && cursor_.is_live();
  if (!is_left_by_path || deadline_ns == 0 || !block_.empty()) return;
  for (std::uint32_t i = 0; i < cursor_.looks && !cursor_.ring->has(cursor_.next); ++i) {
    spin_pause();
  }
}

Due Follower::wait_closed(std::uint64_t deadline_ns) {
  begin_waiting();
  for (;;) {
    const std::uint64_t filtered = counters().filtered;
    const Due due = poll();
    if (due.kind != DueKind::kNothing) {
      calls_.waiter().reset();
      return due;
    }
    records_waited_ = counters().records;
    if (deadline_ns == 0 || calls_.another_rests()) return {};
    if (counters().filtered != filtered) {
      if (!looks_again(deadline_ns)) return {};
    } else if (!spin() && !rest(deadline_ns)) {
      return {};
    }
  }
}

// Records were passed over, and more may be there. Without a look at the clock a bus that publishes
// other instruments without a pause would hold the call.
bool Follower::looks_again(std::uint64_t deadline_ns) {
  return !calls_.take_interrupt() && monotonic_ns() < deadline_ns;
}

// A waiter that backs off begins anew after each record, also after one that no wait was needed for.
void Follower::begin_waiting() {
  if (records_waited_ != counters().records) calls_.waiter().reset();
  calls_.begin();
}

Result<Sequence> Follower::read_one(std::span<std::byte> record, std::uint64_t deadline_ns) {
  const Turning turning(*this);
  if (turning.is_refused()) return Errc::kMisuse;
  if (is_introduced() && record.size() != cursor_.record_bytes && !event_is_due())
    return Errc::kRecordSize;
  await_measured(deadline_ns);
  begin_waiting();
  for (;;) {
    const std::uint64_t filtered = counters().filtered;
    const Due due = poll();
    switch (due.kind) {
      case DueKind::kNothing:
        break;
      case DueKind::kRecord:
        std::memcpy(record.data(), due.record.data(), record.size());
        return due.sequence;
      case DueKind::kEnd:
        return why_ended();
      default:
        put_back(due);
        return Errc::kEventDue;
    }
    records_waited_ = counters().records;
    if (deadline_ns == 0 || calls_.another_rests()) return calls_.why_nothing(deadline_ns);
    if (counters().filtered != filtered) {
      if (!looks_again(deadline_ns)) return calls_.why_nothing(deadline_ns);
      continue;
    }
    // What comes while this spins goes straight into the caller's memory.
    if (spin()) {
      if (cursor_.is_live() && block_.empty() && cursor_.take(record.data()) == RingRead::kRecord)
          [[likely]] {
        return deliver(record.data()).sequence;
      }
    } else if (!rest(deadline_ns)) {
      return calls_.why_nothing(deadline_ns);
    }
  }
}

Result<Due> Follower::read_event() {
  const Turning turning(*this);
  if (turning.is_refused()) return Errc::kMisuse;
  if (!event_is_due()) return Errc::kWouldBlock;
  if (outbox_.first().kind == DueKind::kState) return Errc::kEventDue;
  const Due due = deliver_event();
  if (due.kind == DueKind::kEnd) return why_ended();
  return due;
}

// Whether an event comes before the next record, as far as can be seen now; takes no record but
// those that are passed over.
bool Follower::event_is_due() {
  if (filter_ && !calls_.another_rests()) advance();
  for (int turns = 0; turns < kTurnsMax && outbox_.empty() && block_.empty(); ++turns) {
    if (calls_.another_rests() || turn({})) break;
  }
  return !outbox_.empty();
}

bool Follower::read_records(std::span<std::byte> rows, Result<Batch>& batch) {
  const Turning turning(*this);
  if (turning.is_refused()) {
    batch = Errc::kMisuse;
    return true;
  }
  calls_.begin();
  if (!gives_all() || rows.size() < cursor_.record_bytes) return false;
  const std::size_t count = poll_batch(rows);
  if (count == 0) return false;
  deliver(*batch, rows, count);
  return true;
}

bool Follower::read_records(const RowSpace& rows, Result<Batch>& batch) {
  const bool has_rows =
      read_records(gives_all() ? rows.from(0, cursor_.record_bytes) : rows.bytes, batch);
  if (has_rows) rows.number(0, batch->count, batch->first);
  return has_rows;
}

Result<Batch> Follower::read(const RowSpace& rows, std::uint64_t deadline_ns, Due& due) {
  const Turning turning(*this);
  if (turning.is_refused()) return Errc::kMisuse;
  if (is_introduced() && rows.places(cursor_.record_bytes) == 0) {
    if (!event_is_due()) return {Errc::kTooSmall, {.row_bytes = cursor_.record_bytes}};
  } else if (gives_all() && deadline_ns == 0 && outbox_.empty()) {
    return calls_.why_nothing(deadline_ns);
  }
  if (filter_) cursor_.distance.keep();
  due = wait_closed(deadline_ns);
  Batch batch;
  switch (due.kind) {
    case DueKind::kNothing:
      return calls_.why_nothing(deadline_ns);
    case DueKind::kEnd:
      return why_ended();
    case DueKind::kEvent:
      batch.kind = ItemKind::kEvent;
      break;
    case DueKind::kState:
      if (const std::size_t row_bytes = due.record.size(); rows.places(row_bytes) == 0) {
        put_back(due);
        return {Errc::kTooSmall, {.row_bytes = static_cast<std::uint32_t>(row_bytes)}};
      }
      read_state(rows, due, batch);
      break;
    case DueKind::kRecord:
      std::memcpy(rows.bytes.data(), due.record.data(), cursor_.record_bytes);
      if (filter_) {
        read_chosen(rows, due, batch);
        break;
      }
      deliver(batch, rows.bytes, 1 + poll_batch(rows.from(1, cursor_.record_bytes)));
      rows.number(0, batch.count, batch.first);
  }
  return batch;
}

void Follower::measure_due(Sequence first, std::span<const std::byte> rows) {
  meter_.measure(first, rows, clock_.utc_ns());
  cursor_.measured_from = meter_.due();
}

// The record that was taken last.
Due Follower::deliver(const std::byte* record) {
  const Sequence n = cursor_.next - 1;
  const std::span<const std::byte> bytes(record, cursor_.record_bytes);
  measure(n, n, bytes);
  return {DueKind::kRecord, n, bytes};
}

// The last `count` that were taken. (cursor_.next may be behind a gap that is announced already.)
void Follower::deliver(Batch& batch, std::span<const std::byte> rows, std::size_t count) {
  const Sequence last = counters().last;
  batch.kind = ItemKind::kRecord;
  batch.first = last - count + 1;
  batch.count = count;
  batch.row_bytes = cursor_.record_bytes;
  measure(batch.first, last, rows.first(count * batch.row_bytes));
}

// `first`, which is in its place already, and what is there behind it: with a column all, otherwise
// what follows it without another instrument's record in between.
void Follower::read_chosen(const RowSpace& rows, const Due& first, Batch& batch) {
  const std::size_t row_bytes = cursor_.record_bytes;
  batch.kind = ItemKind::kRecord;
  batch.first = first.sequence;
  batch.row_bytes = cursor_.record_bytes;
  rows.number(0, 1, first.sequence);
  batch.count = 1;
  const std::size_t places = rows.places(row_bytes);
  for (int blocks = 0; batch.count < places && blocks < kTurnsMax;) {
    if (block_.empty()) {
      if (cursor_.distance.is_due()) return;
      ++blocks;
    }
    if (!advance() || !outbox_.empty()) return;
    if (!rows.sequences && cursor_.next != batch.first + batch.count) return;
    const std::span<std::byte> room = rows.from(batch.count, row_bytes);
    const std::span<const std::byte> there = block_.rest();
    const std::size_t chosen =
        filter_->count_chosen(there.first(std::min(there.size(), room.size())));
    block_.take(room.first(chosen * row_bytes));
    rows.number(batch.count, chosen, cursor_.next);
    if (chosen > 0) {
      measure(cursor_.next, cursor_.next + chosen - 1, room.first(chosen * row_bytes));
    }
    cursor_.count(chosen);
    batch.count += chosen;
  }
}

// `first` and what follows it of the state.
void Follower::read_state(const RowSpace& rows, const Due& first, Batch& batch) {
  const std::size_t row_bytes = first.record.size();
  batch.row_bytes = static_cast<std::uint32_t>(row_bytes);
  const std::size_t places = rows.places(row_bytes);
  batch.kind = ItemKind::kState;
  for (Due due = first; due.kind != DueKind::kNothing;) {
    if (due.kind != DueKind::kState || batch.count == places) return put_back(due);
    std::memcpy(rows.bytes.data() + batch.count * row_bytes, due.record.data(), row_bytes);
    rows.number(batch.count, 1, due.sequence);
    ++batch.count;
    due = wait_closed(0);
  }
}

bool Follower::arm() {
  const Turning turning(*this);
  if (turning.is_refused() || descriptor_ == nullptr || event_is_due()) return false;
  if (!block_.empty()) return false;
  if (cursor_.phase == Phase::kLive && cursor_.ring->has(cursor_.next)) return false;
  if (cursor_.phase == Phase::kCatchUp && !catch_up_.waits()) return false;
  arm_descriptor();
  return true;
}

void Follower::end_in_child() noexcept {
  join_ = Join::kNotYet;  // read() and take() come to poll()
  cursor_.phase = Phase::kForked;
  cursor_.attention = 0;
  cursor_.limit = 0;
  calls_.end_in_child();
}

Due Follower::poll() {
  if (cursor_.is_live() && block_.empty()) {
    const RingRead outcome = cursor_.take(cursor_.place);
    if (outcome == RingRead::kRecord) return deliver(cursor_.place);
    if (outcome == RingRead::kEmpty && spins_left_ > 0) {
      --spins_left_;
      cursor_.distance.time_has_passed();
      return {};
    }
  }
  if (cursor_.phase == Phase::kForked) return {.kind = DueKind::kEnd};
  if (calls_.another_rests()) {
    calls_.refuse();
    return {};
  }
  if (!advance()) return {};
  if (!outbox_.empty()) return deliver_event();
  const std::byte* const record = block_.take();
  cursor_.count(1);
  return deliver(record);
}

// Takes turns until there is an event or a record to deliver. False: there is nothing for now.
bool Follower::advance() {
  pass_over();
  for (int turns = 0; turns < kTurnsMax && outbox_.empty() && block_.empty(); ++turns) {
    // In kLive one, so that the path can be opened again: which a filter keeps closed.
    const std::span<std::byte> all = block_.room();
    const bool is_one = cursor_.phase == Phase::kLive && !filter_;
    const Turn taken = turn(is_one ? all.first(cursor_.record_bytes) : all);
    if (!taken) continue;
    if (*taken == 0) break;
    block_.filled(*taken);
    pass_over();
  }
  return !outbox_.empty() || !block_.empty();
}

// What is in front of the block and of other instruments is taken, and not given.
void Follower::pass_over() {
  if (!filter_ || block_.empty()) return;
  const std::uint64_t others = filter_->count_others(block_.rest());
  if (others == 0) return;
  block_.skip(others);
  cursor_.count(others);
  cursor_.ledger.filter_out(others);
}

std::size_t Follower::poll_batch(std::span<std::byte> out) {
  cursor_.distance.keep();
  std::size_t copied = 0;
  if (cursor_.is_live() && block_.empty() && out.size() >= cursor_.record_bytes)
      [[likely]] {  // needs no turn
    if (const std::uint64_t records = cursor_.read_run(out, cursor_.attention).records; records > 0)
        [[likely]] {
      cursor_.ledger.take(cursor_.next, records);
      cursor_.next += records;
      copied = records;
      if (cursor_.distance.is_due()) return copied;
    }
  }
  for (int turns = 0; turns < kTurnsMax && outbox_.empty();) {
    const std::span<std::byte> room = out.subspan(copied * cursor_.record_bytes);
    if (cursor_.record_bytes != 0 && room.size() < cursor_.record_bytes) return copied;
    if (!block_.empty()) {
      const std::uint64_t records = block_.take(room);
      cursor_.count(records);
      copied += records;
      continue;
    }
    const Turn taken = turn(room);
    turns += taken ? 0 : 1;
    if (!taken) continue;
    if (*taken == 0) break;
    cursor_.count(*taken);
    copied += *taken;
    if (cursor_.distance.is_due()) break;
  }
  return copied;
}

// Where spinning is the way to wait: looks at the next stamp, and at nothing else, until something
// is there (true) or it is time to look after everything (false).
bool Follower::spin() {
  if (cursor_.phase != Phase::kLive || !calls_.waiter().spinning()) return false;
  for (; spins_left_ > 0; --spins_left_) {
    calls_.waiter().spin();
    if (cursor_.ring->has(cursor_.next)) return true;
  }
  return false;
}

// Waits a moment in the way the phase allows; false once deadline_ns has passed, or interrupted.
bool Follower::rest(std::uint64_t deadline_ns) {
  if (calls_.take_interrupt()) return false;
  const std::uint64_t now = monotonic_ns();
  if (now >= deadline_ns) return false;
  const CallWait::Rest rest(calls_, cursor_.attention);
  if (!rest.is_held()) {
    calls_.refuse();
    return false;
  }
  cursor_.close();  // what another call has left open meanwhile is misuse
  spins_left_ = 0;  // the next empty poll looks after everything
  if (cursor_.phase == Phase::kLive) {
    if (calls_.waiter().spinning()) {
      calls_.waiter().spin();
    } else if (!watch_.ended()) {  // or the ring is to be read once more at once
      calls_.waiter().turn(attachment_->map()->words(), seen_in_ring(),
                           std::min(deadline_ns, after_ns(now, doze_ns())));
    }
    return true;
  }
  const std::optional<Pause> pause = pause_from(now);
  if (!pause) return true;
  const std::uint64_t until_ns = std::min({pause->until_ns, deadline_ns, now + kInterruptPauseNs});
  wait_readable(pause->fd, until_ns - std::min(until_ns, now));
  return true;
}

// Nothing: there is more to do at once.
std::optional<Follower::Pause> Follower::pause_from(std::uint64_t now_ns) {
  switch (cursor_.phase) {
    case Phase::kSeeking:
      return Pause{search_.next_step_ns(), search_.fd()};
    case Phase::kFlushing:
      return Pause{backlog_.flush_ends_ns(), attachment_->control()->fd()};
    case Phase::kCatchUp:
      return Pause{now_ns + kCatchUpPauseNs};
    case Phase::kSnapshot:  // there is more of it to load
    case Phase::kLive:
    case Phase::kEnded:
    case Phase::kForked:
      break;
  }
  return std::nullopt;
}

bool Follower::is_ready() {
  const bool is_open = cursor_.is_open();
  if (is_open && cursor_.ring->has(cursor_.next)) return true;
  const bool may_look_later = is_open || (waits_for_others() && outbox_.empty() && block_.empty());
  if (may_look_later && spins_left_ > 0) {
    --spins_left_;
    cursor_.distance.time_has_passed();
    return false;
  }
  const Turning turning(*this);
  // Where another thread's call waits, or this is a forked child, the caller's own call says so.
  if (turning.is_refused() || cursor_.phase == Phase::kForked || advance()) return true;
  if (waits_for_others()) spins_left_ = kSpins;
  return false;
}

std::optional<WakeUp> Follower::prepare_wait() {
  const Turning turning(*this);
  const bool has_something = !outbox_.empty() || !block_.empty();
  const bool is_forked = cursor_.phase == Phase::kForked;
  if (turning.is_refused() || is_forked || has_something) return std::nullopt;
  spins_left_ = 0;  // after the sleep it looks after everything
  const std::uint64_t now = monotonic_ns();
  WakeUp wake_up;
  if (cursor_.phase == Phase::kLive) {
    if (watch_.ended()) return std::nullopt;
    wake_up.word = doorbell_to_sleep_on(attachment_->map()->words(), seen_in_ring());
    if (!wake_up.word) return std::nullopt;
    wake_up.wake_by_ns = now + doze_ns();
  } else {
    const std::optional<Pause> pause = pause_from(now);
    if (!pause) return std::nullopt;
    wake_up.wake_by_ns = std::min(pause->until_ns, now + kSeekingTickNs);
  }
  set_rest_.emplace(calls_, cursor_.attention);
  if (set_rest_->is_held()) return wake_up;
  set_rest_.reset();
  return std::nullopt;
}

void Follower::finish_wait() {
  set_rest_.reset();
  const Turning turning(*this);  // opens the path again
}

absl::StatusOr<int> Follower::descriptor() {
  if (descriptor_ != nullptr) return descriptor_->fd();
  if (!may_park(options_.wait)) {
    return make_error(Errc::kInvalidArgument,
                      "a subscriber that waits busily has no descriptor: the publisher rings only "
                      "for those that may park; choose backoff or park");
  }
  absl::StatusOr<std::unique_ptr<WakeDescriptor>> started = WakeDescriptor::start(options_.threads);
  if (!started.ok()) return started.status();
  descriptor_ = *std::move(started);
  spins_left_ = 0;
  descriptor_->signal();  // there may be something to do already
  return descriptor_->fd();
}

// There is nothing to deliver.
void Follower::arm_descriptor() {
  if (cursor_.phase == Phase::kSnapshot) return descriptor_->signal();  // the next slice
  const bool has_bell = cursor_.phase == Phase::kLive && attachment_->control() != nullptr;
  if (!has_bell) return descriptor_->arm(nullptr, kNoSequence);
  descriptor_->arm(attachment_->map(), std::min(cursor_.next - 1, cursor_.ring->head()));
}

}  // namespace lapwing
