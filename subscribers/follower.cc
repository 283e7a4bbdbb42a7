#include "subscribers/follower.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lapwing/detail/atomic_word.h"
#include "os/kernel.h"

namespace lapwing {

Item Follower::wait(std::uint64_t deadline_ns) {
  calls_.begin();
  Item item;
  for (;;) {
    poll_into(item);
    if (item.kind != ItemKind::kNothing) {
      calls_.waiter().reset();
      return item;
    }
    if (deadline_ns == 0 || calls_.another_rests()) return item;
    if (!spin() && !rest(deadline_ns)) return item;
  }
}

Taken Follower::take_slowly(std::span<std::byte> record, std::uint64_t deadline_ns) {
  if (introduced_ && record.size() != cursor_.record_bytes && !event_is_due())
    return {Errc::kRecordSize};
  if (records_waited_ != counters().records) calls_.waiter().reset();
  calls_.begin();
  for (;;) {
    Item item;
    poll_into(item);
    switch (item.kind) {
      case ItemKind::kNothing:
        break;
      case ItemKind::kRecord:
        std::memcpy(record.data(), record_, record.size());
        return {Errc::kOk, item.sequence};
      case ItemKind::kEnded:
        return {why_ended()};
      default:
        put_back(item);
        return {Errc::kEventDue};
    }
    records_waited_ = counters().records;
    if (deadline_ns == 0 || calls_.another_rests()) return {calls_.why_nothing(deadline_ns)};
    // What comes while this spins goes straight into the caller's memory.
    if (spin()) {
      if (cursor_.next < cursor_.attention && cursor_.take(record.data()) == RingRead::kRecord)
          [[likely]] {
        return {Errc::kOk, cursor_.next - 1};
      }
    } else if (!rest(deadline_ns)) {
      return {calls_.why_nothing(deadline_ns)};
    }
  }
}

std::optional<Item> Follower::take_event() {
  if (!event_is_due() || outbox_.first().kind == ItemKind::kState) return std::nullopt;
  return deliver_event();
}

// Whether an event comes before the next record, as far as can be seen now; takes no record.
bool Follower::event_is_due() {
  for (int turns = 0; turns < kTurnsMax && outbox_.empty() && block_.empty(); ++turns) {
    if (calls_.another_rests() || turn({})) break;
  }
  return !outbox_.empty();
}

Batch Follower::read(std::span<std::byte> rows, std::uint64_t deadline_ns, Item& due) {
  calls_.begin();
  if (introduced_ && rows.size() < cursor_.record_bytes) {
    if (!event_is_due()) return {.result = Errc::kTooSmall, .row_bytes = cursor_.record_bytes};
  } else if (introduced_ && !calls_.another_rests()) {
    if (const std::size_t count = poll_batch(rows); count > 0) {
      return records(count);
    }
    if (deadline_ns == 0 && outbox_.empty()) return {.result = calls_.why_nothing(deadline_ns)};
  }
  const Item item = wait(deadline_ns);
  if (item.kind == ItemKind::kNothing) return {.result = calls_.why_nothing(deadline_ns)};
  if (item.kind == ItemKind::kState) return read_state(rows, item);
  if (item.kind == ItemKind::kRecord) {
    std::memcpy(rows.data(), record_, cursor_.record_bytes);
    const std::size_t count = 1 + poll_batch(rows.subspan(cursor_.record_bytes));
    return records(count);
  }
  due = item;
  const Errc result = item.kind == ItemKind::kEnded ? why_ended() : Errc::kOk;
  return {.result = result, .kind = Batch::Kind::kEvent};
}

// The last `count` that were delivered. (cursor_.next may be behind a gap that is announced already.)
Batch Follower::records(std::size_t count) const {
  return {Errc::kOk, Batch::Kind::kRecords, counters().last - count + 1, count,
          cursor_.record_bytes};
}

// `first` and what follows it of the state.
Batch Follower::read_state(std::span<std::byte> rows, const Item& first) {
  const std::uint32_t row_bytes = row_bytes_;
  if (rows.size() < row_bytes) {
    put_back(first);
    return {.result = Errc::kTooSmall, .row_bytes = row_bytes};
  }
  std::size_t count = 0;
  for (Item item = first; item.kind != ItemKind::kNothing; item = wait(0)) {
    if (item.kind != ItemKind::kState || (count + 1) * row_bytes > rows.size()) {
      put_back(item);
      break;
    }
    std::memcpy(rows.data() + count * row_bytes, record_, row_bytes);
    ++count;
  }
  return {Errc::kOk, Batch::Kind::kState, kNoSequence, count, row_bytes};
}

bool Follower::arm() {
  if (descriptor_ == nullptr || calls_.another_rests() || event_is_due()) return false;
  if (!block_.empty()) return false;
  if (cursor_.ring != nullptr &&
      (cursor_.phase == Phase::kLive ? cursor_.ring->has(cursor_.next)
                                     : cursor_.ring->lag(cursor_.next) > 0)) {
    return false;
  }
  arm_descriptor();
  return true;
}

Item Follower::poll_slowly() {
  if (calls_.another_rests()) {
    calls_.refuse();
    return {};
  }
  for (int turns = 0; turns < kTurnsMax; ++turns) {
    if (!outbox_.empty()) return deliver_event();
    if (!block_.empty()) {
      record_ = block_.take();
      count(1);
      return {ItemKind::kRecord, cursor_.next - 1, {}};
    }
    // kLive keeps block_ empty: the hot path uses its first place.
    const std::span<std::byte> all = block_.room();
    const Turn taken = turn(cursor_.phase == Phase::kLive ? all.first(cursor_.record_bytes) : all);
    if (!taken) continue;
    if (*taken == 0) break;
    block_.filled(*taken);
  }
  return {};
}

std::size_t Follower::poll_batch(std::span<std::byte> out) {
  if (came_close_) fall_behind();
  std::size_t copied = 0;
  for (int turns = 0; turns < kTurnsMax && outbox_.empty();) {
    const std::span<std::byte> room = out.subspan(copied * cursor_.record_bytes);
    if (cursor_.record_bytes != 0 && room.size() < cursor_.record_bytes) return copied;
    if (!block_.empty()) {
      const std::uint64_t records = block_.take(room);
      count(records);
      copied += records;
      continue;
    }
    const Turn taken = turn(room);
    turns += taken ? 0 : 1;
    if (!taken) continue;
    if (*taken == 0) break;
    count(*taken);
    copied += *taken;
    if (came_close_) break;
  }
  return copied;
}

// A reader that stays with a busy publisher takes each line from it while it is written.
void Follower::fall_behind() {
  came_close_ = false;
  for (int i = 0; i < kBehindPauses; ++i) spin_pause();
}

void Follower::count(std::uint64_t records) {
  if (cursor_.phase == Phase::kCatchUp) {
    cursor_.ledger.take_caught_up(cursor_.next, records);
  } else {
    cursor_.ledger.take(cursor_.next, records);
  }
  cursor_.next += records;
}

// One turn of the machine, while the outbox is empty. Records go into `out`, as many as fit and are
// there before the next event.
Follower::Turn Follower::turn(std::span<std::byte> out) {
  if (cursor_.next >= cursor_.attention && reads() && reach_place()) return again();
  switch (cursor_.phase) {
    case Phase::kSeeking:
      return on_seeking();
    case Phase::kFlushing:
      return on_flushing();
    case Phase::kSnapshot:
      return on_snapshot();
    case Phase::kCatchUp:
      return on_catch_up(out);
    case Phase::kLive:
      return on_live(out);
    case Phase::kEnded:
      break;
  }
  return announce(ItemKind::kEnded, cursor_.next - 1,
                  status_.ok() ? search_.left() : std::string(status_.message()));
}

Follower::Turn Follower::announce(ItemKind kind, Sequence sequence, std::string text,
                                  const Gap& gap) {
  outbox_.add({kind, sequence, gap}, std::move(text));
  cursor_.attention = 0;
  return again();
}

Item Follower::deliver_event() {
  const Item item = outbox_.take();
  set_attention();
  return item;
}

// Announces what has its place before record cursor_.next; where that is nothing, does the upkeep. False:
// nothing was announced.
bool Follower::reach_place() {
  if (trail_.step(cursor_.next)) {
    cursor_.ledger.session_seen();
    announce(ItemKind::kSession, cursor_.next);
  } else if (backlog_.step(cursor_.next)) {
    announce(ItemKind::kCaughtUp, backlog_.last(), backlog_.not_durable());
  } else {
    report(monotonic_ns());
    set_attention();
  }
  return !outbox_.empty();
}

// The first session, of which the record at `first` comes first.
Follower::Turn Follower::introduce(Sequence first) {
  introduced_ = true;
  return announce(ItemKind::kSession, first);
}

void Follower::set_attention() {
  cursor_.attention = 0;
  if (!reads() || !outbox_.empty()) return;
  cursor_.attention =
      std::min({cursor_.next + kUpkeepRecords, trail_.next_first(), backlog_.next_due()});
}

Follower::Turn Follower::on_catch_up(std::span<std::byte> out) {
  const std::uint64_t room = room_in(out);
  if (room == 0) return nothing();
  CatchUp::Read read =
      catch_up_.read(*attachment_, cursor_.next, out.first(room * cursor_.record_bytes),
                     watch_.ended(), seen_head_);
  switch (read.outcome) {
    case CatchUp::Outcome::kRecords:
      return read.records;
    case CatchUp::Outcome::kNothing:
      return on_idle();
    case CatchUp::Outcome::kAgain:
      return again();
    case CatchUp::Outcome::kInRing:
      cursor_.phase = Phase::kLive;
      return again();
    case CatchUp::Outcome::kHole:
      return on_hole(std::move(read));
    case CatchUp::Outcome::kAtEnd:
      return leave();
    case CatchUp::Outcome::kFailed:
      break;
  }
  return end(std::move(read.status));
}

Follower::Turn Follower::on_live(std::span<std::byte> out) {
  const RingRun run = cursor_.ring->read_run(cursor_.next, out.data(), room_in(out), seen_head_);
  came_close_ = run.records >= kRunRecordsMin && run.end.outcome == RingRead::kEmpty;
  if (run.records > 0 || run.end.outcome == RingRead::kRecord) return run.records;
  if (run.end.outcome != RingRead::kEmpty) return on_lap(run.end);
  return watch_.ended() ? leave() : on_idle();
}

}  // namespace lapwing
