#include "subscribers/item_delivery.h"

#include <cstring>

#include "os/kernel.h"

namespace lapwing {

Result<Due> ItemDelivery::next(std::uint64_t deadline_ns) {
  const ClosedPath closed(*this);
  if (closed.refusal != Errc::kOk) return closed.refusal;
  await_measured(deadline_ns);
  const Result<Due> due = wait_for_due({}, deadline_ns);
  if (due.ok()) wait_.reset();
  return due;
}

Result<Sequence> ItemDelivery::read_one(std::span<std::byte> record, std::uint64_t deadline_ns) {
  const ClosedPath closed(*this);
  if (closed.refusal != Errc::kOk) return closed.refusal;
  if (machine_.is_introduced() && record.size() != cursor_.record_bytes && !event_is_due())
    return Errc::kRecordSize;
  await_measured(deadline_ns);
  const Result<Due> due = wait_for_due(record, deadline_ns);
  if (!due.ok()) return due.error();
  if (due->kind != DueKind::kRecord) {
    stream_.put_back(*due);
    return Errc::kEventDue;
  }
  if (due->record.data() != record.data()) {
    std::memcpy(record.data(), due->record.data(), record.size());
  }
  return due->sequence;
}

Result<Due> ItemDelivery::read_event() {
  const ClosedPath closed(*this);
  if (closed.refusal != Errc::kOk) return closed.refusal;
  if (!event_is_due()) return Errc::kWouldBlock;
  if (stream_.outbox.first().kind == DueKind::kState) return Errc::kEventDue;
  const Due due = deliver_event();
  if (due.kind == DueKind::kEnd) return why_ended();
  return due;
}

bool ItemDelivery::read_records(std::span<std::byte> rows, Result<Batch>& batch) {
  const ClosedPath closed(*this);
  if (closed.refusal != Errc::kOk) {
    batch = closed.refusal;
    return true;
  }
  wait_.begin();
  if (stream_.filter || !machine_.is_introduced() || rows.size() < cursor_.record_bytes)
    return false;
  const std::size_t count = poll_batch(rows);
  if (count == 0) return false;
  deliver(*batch, rows, count);
  return true;
}

bool ItemDelivery::read_records(const RowSpace& rows, Result<Batch>& batch) {
  const bool is_known = machine_.is_introduced();
  const bool has_rows =
      read_records(is_known ? rows.from(0, cursor_.record_bytes) : rows.bytes, batch);
  if (has_rows) rows.number(0, batch->count, batch->first);
  return has_rows;
}

Result<Batch> ItemDelivery::read(const RowSpace& rows, std::uint64_t deadline_ns, Due& due) {
  const ClosedPath closed(*this);
  if (closed.refusal != Errc::kOk) return closed.refusal;
  Batch batch;
  if (machine_.is_introduced() && !rows.has_room(cursor_.record_bytes)) {
    if (!event_is_due()) return {Errc::kTooSmall, {.row_bytes = cursor_.record_bytes}};
  } else if (stream_.filter) {
    cursor_.distance.keep();
  } else if (machine_.is_introduced() && deadline_ns == 0 && stream_.outbox.empty()) {
    return wait_.why_nothing(deadline_ns);
  }
  const Result<Due> found = wait_for_due({}, deadline_ns);
  if (!found.ok()) return found.error();
  wait_.reset();
  due = *found;
  if (due.kind == DueKind::kEvent) {
    batch.kind = ItemKind::kEvent;
  } else if (due.kind == DueKind::kState && !rows.has_room(due.record.size())) {
    stream_.put_back(due);
    const auto row_bytes = static_cast<std::uint32_t>(due.record.size());
    return {Errc::kTooSmall, {.row_bytes = row_bytes}};
  } else if (due.kind == DueKind::kState) {
    deliver_state(batch, rows, due);
  } else {
    std::memcpy(rows.bytes.data(), due.record.data(), cursor_.record_bytes);
    const bool has_filter = stream_.filter.has_value();
    const std::size_t more = has_filter ? 0 : poll_batch(rows.from(1, cursor_.record_bytes));
    deliver(batch, rows.bytes, 1 + more);
    rows.number(0, batch.count, batch.first);
    if (has_filter) add_chosen(batch, rows);
  }
  return batch;
}

bool ItemDelivery::arm() {
  const ClosedPath closed(*this);
  if (closed.refusal != Errc::kOk || !wait_.has_descriptor()) return false;
  return !event_is_due() && block_.empty() && wait_.arm();
}

bool ItemDelivery::is_ready() {
  const bool is_open = cursor_.is_open();
  if (is_open && cursor_.ring->has(cursor_.next)) return true;
  const bool may_skip = is_open || (may_pause() && !has_something());
  if (may_skip && wait_.skips_upkeep()) {
    cursor_.distance.time_has_passed();
    return false;
  }
  const ClosedPath closed(*this);
  // The caller's own call will report a refusal.
  if (closed.refusal != Errc::kOk || advance()) return true;
  if (may_pause()) wait_.skip_upkeep(kSpins);
  return false;
}

std::optional<WakeUp> ItemDelivery::prepare_wait() {
  const ClosedPath closed(*this);
  if (closed.refusal != Errc::kOk || has_something()) return std::nullopt;
  return wait_.prepare();
}

void ItemDelivery::finish_wait() {
  wait_.finish();
  const ClosedPath closed(*this);  // its destructor reopens the path
}

void ItemDelivery::end_in_child() noexcept {
  wait_.end_in_child();
  cursor_.phase = Phase::kForked;
  cursor_.attention = 0;
  cursor_.limit = 0;
}

// Takes one step, then does the upkeep if there is nothing to read. A new attachment's records may
// have a different size.
Step ItemDelivery::step(std::span<std::byte> out) {
  const Step step = machine_.step(out, machine_.needs_time() ? monotonic_ns() : 0);
  if (cursor_.record_bytes != block_.record_bytes()) [[unlikely]] {
    block_.resize(cursor_.record_bytes);
    lines_.resize(cursor_.record_bytes / sizeof(Line) + 1);
    cursor_.place = lines_.front().bytes;
  }
  if (step.kind != Step::Kind::kIdle || !cursor_.reads() || wait_.skips_upkeep()) return step;
  if (!wait_.has_descriptor()) wait_.skip_upkeep(kSpins);
  const bool has_event = machine_.upkeep().run_idle(monotonic_ns());
  if (stream_.watch.ended()) wait_.skip_upkeep(0);  // the next empty read is the end
  return has_event ? Step{} : step;
}

// Takes steps until there is an event or a record to hand out. Returns false if there is nothing
// now.
bool ItemDelivery::advance() {
  pass_over();
  for (int steps = 0; steps < kStepsMax && !has_something(); ++steps) {
    // Only one record in kLive, so that the path can be reopened, unless a filter keeps it closed.
    const std::span<std::byte> all = block_.room();
    const bool is_one = cursor_.phase == Phase::kLive && !stream_.filter;
    const Step taken = step(is_one ? all.first(cursor_.record_bytes) : all);
    if (taken.kind == Step::Kind::kMoved) continue;
    if (taken.records == 0) break;
    block_.filled(taken.records);
    pass_over();
  }
  return has_something();
}

// Takes the records of other instruments at the front of the block without handing them out.
void ItemDelivery::pass_over() {
  if (!stream_.filter || block_.empty()) return;
  const std::uint64_t others = stream_.filter->count_others(block_.rest());
  if (others == 0) return;
  block_.skip(others);
  cursor_.count(others);
  cursor_.ledger.filter_out(others);
}

// True if an event comes before the next record, as far as is known now. Takes no records except
// those that it passes over.
bool ItemDelivery::event_is_due() {
  if (stream_.filter && !wait_.another_rests()) advance();
  for (int steps = 0; steps < kStepsMax && !has_something(); ++steps) {
    if (wait_.another_rests() || step({}).kind != Step::Kind::kMoved) break;
  }
  return !stream_.outbox.empty();
}

// Returns the next record or event, if there is one now. A ring record is read into `record` if
// that has the record's size.
Due ItemDelivery::poll(std::span<std::byte> record) {
  if (cursor_.is_live() && block_.empty()) {
    std::byte* const place = record.size() == cursor_.record_bytes ? record.data() : cursor_.place;
    const RingRead outcome = cursor_.take(place);
    if (outcome == RingRead::kRecord) return deliver(place);
    if (outcome == RingRead::kEmpty && wait_.skips_upkeep()) {
      cursor_.distance.time_has_passed();
      return {};
    }
  }
  if (wait_.another_rests()) {
    wait_.refuse();
    return {};
  }
  if (!advance()) return {};
  if (!stream_.outbox.empty()) return deliver_event();
  const std::byte* const taken = block_.take();
  cursor_.count(1);
  return deliver(taken);
}

std::size_t ItemDelivery::poll_batch(std::span<std::byte> out) {
  cursor_.distance.keep();
  std::size_t copied = 0;
  if (cursor_.is_live() && block_.empty() && out.size() >= cursor_.record_bytes)
      [[likely]] {  // needs no step
    if (const std::uint64_t records = cursor_.read_run(out, cursor_.attention).records; records > 0)
        [[likely]] {
      cursor_.count_live(copied = records);
      if (cursor_.distance.is_due()) return copied;
    }
  }
  for (int steps = 0; steps < kStepsMax && stream_.outbox.empty();) {
    const std::span<std::byte> room = out.subspan(copied * cursor_.record_bytes);
    if (cursor_.record_bytes != 0 && room.size() < cursor_.record_bytes) return copied;
    if (!block_.empty()) {
      const std::uint64_t records = block_.take(room);
      cursor_.count(records);
      copied += records;
      continue;
    }
    const Step taken = step(room);
    if (taken.kind == Step::Kind::kMoved) {
      ++steps;
      continue;
    }
    if (taken.records == 0) break;
    cursor_.count(taken.records);
    copied += taken.records;
    if (cursor_.distance.is_due()) break;
  }
  return copied;
}

// Returns the next record, state entry or event, or the reason why there is none.
Result<Due> ItemDelivery::wait_for_due(std::span<std::byte> record, std::uint64_t deadline_ns) {
  const std::uint64_t& filtered = cursor_.ledger.counters().filtered;
  wait_.begin();
  wait_.begin_wait();
  for (;;) {
    const std::uint64_t filtered_before = filtered;
    const Due due = poll(record);
    if (due.kind == DueKind::kEnd) return why_ended();
    if (due.kind != DueKind::kNothing) return due;
    const bool has_passed_over = filtered != filtered_before;
    if (!wait_.keep_waiting(deadline_ns, has_passed_over)) return wait_.why_nothing(deadline_ns);
  }
}

// Lets a waiting call take a measured record as early as the read path would take any other: before
// all other work.
void ItemDelivery::await_measured(std::uint64_t deadline_ns) {
  const bool is_left_by_path = cursor_.next >= cursor_.measured_from && cursor_.is_live();
  if (!is_left_by_path || deadline_ns == 0 || !block_.empty()) return;
  for (std::uint32_t i = 0; i < cursor_.looks && !cursor_.ring->has(cursor_.next); ++i) {
    spin_pause();
  }
}

// After the event, the next empty poll does the upkeep if it may find the subscriber live.
Due ItemDelivery::deliver_event() {
  const Due due = stream_.take_event();
  machine_.upkeep().on_delivered(due);
  if (machine_.upkeep().awaits_live()) wait_.skip_upkeep(0);
  return due;
}

// Delivers the last record taken.
Due ItemDelivery::deliver(const std::byte* record) {
  const Sequence n = cursor_.next - 1;
  const std::span<const std::byte> bytes(record, cursor_.record_bytes);
  measure(n, n, bytes);
  return {DueKind::kRecord, n, bytes};
}

// Delivers the last `count` records taken. (cursor_.next may already be after a gap whose event is
// due.)
void ItemDelivery::deliver(Batch& batch, std::span<const std::byte> rows, std::size_t count) {
  const Sequence last = cursor_.ledger.counters().last;
  batch.kind = ItemKind::kRecord;
  batch.first = last - count + 1;
  batch.count = count;
  batch.row_bytes = cursor_.record_bytes;
  measure(batch.first, last, rows.first(count * batch.row_bytes));
}

// Delivers `first` and the state entries that follow it.
void ItemDelivery::deliver_state(Batch& batch, const RowSpace& rows, const Due& first) {
  const std::size_t row_bytes = first.record.size();
  const std::size_t rows_max = rows.count(row_bytes);
  batch.kind = ItemKind::kState;
  batch.row_bytes = static_cast<std::uint32_t>(row_bytes);
  for (Result<Due> due = first; due.ok(); due = wait_for_due({}, 0)) {
    if (due->kind != DueKind::kState || batch.count == rows_max) return stream_.put_back(*due);
    std::memcpy(rows.bytes.data() + batch.count * row_bytes, due->record.data(), row_bytes);
    rows.number(batch.count, 1, due->sequence);
    ++batch.count;
  }
}

// Adds the available chosen records after the first row. Without a sequence column, they end before
// the first record of another instrument.
void ItemDelivery::add_chosen(Batch& batch, const RowSpace& rows) {
  const std::size_t row_bytes = cursor_.record_bytes;
  const std::size_t rows_max = rows.count(row_bytes);
  for (int blocks = 0; batch.count < rows_max && blocks < kStepsMax;) {
    if (block_.empty()) {
      if (cursor_.distance.is_due()) return;
      ++blocks;
    }
    if (!advance() || !stream_.outbox.empty()) return;
    if (!rows.sequences && cursor_.next != batch.first + batch.count) return;
    const std::span<std::byte> room = rows.from(batch.count, row_bytes);
    const std::span<const std::byte> there = block_.rest();
    const std::size_t chosen =
        stream_.filter->count_chosen(there.first(std::min(there.size(), room.size())));
    block_.take(room.first(chosen * row_bytes));
    rows.number(batch.count, chosen, cursor_.next);
    measure(cursor_.next, cursor_.next + chosen - 1, room.first(chosen * row_bytes));
    cursor_.count(chosen);
    batch.count += chosen;
  }
}

}  // namespace lapwing
