#include "publisher/mirror/mirror_run.h"

#include <algorithm>
#include <utility>

#include "bus/ring_writer.h"
#include "publisher/announcement.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kHeadStrideParts = 4;  // of the ring

}  // namespace

MirrorRun::MirrorRun(StartedSession started, OriginState& origin)
    : session_(std::move(started)),
      origin_(origin),
      path_{writer_of(*session_.ring),
            session_.begin.first - 1,
            0,
            {},
            session_.ring->header().record_bytes},
      control_(session_, gate_, path_.attention),
      waits_(session_, path_, gate_, control_.file_thread()),
      head_stride_(session_.ring->header().capacity / kHeadStrideParts) {}

MirrorRun::~MirrorRun() {
  end_journal().IgnoreError();
  end_ring(false).IgnoreError();
}

Sequence MirrorRun::durable() const {
  return load_durable(session_.ring->words());
}

bool MirrorRun::load(Sequence n, std::byte* record) const {
  const RingHeader& ring = session_.ring->header();
  if (n < first() || n > head() || head() - n >= ring.capacity) return false;
  return SlotForm::load_slot(session_.ring->slot(n), n, record, ring.record_bytes).outcome ==
         SlotRead::kRecord;
}

void MirrorRun::store_run(const std::byte* record, std::uint64_t count) {
  const std::uint32_t record_bytes = path_.writer.record_bytes();
  for (const Sequence last = path_.head + count; path_.head < last; record += record_bytes) {
    store_record(path_.writer, ++path_.head, record);
  }
  path_.writer.move_head(path_.head);
}

absl::Status MirrorRun::put(std::span<const std::byte> records, Deadline deadline) {
  const std::uint32_t record_bytes = path_.writer.record_bytes();
  const std::byte* record = records.data();
  for (std::uint64_t left = records.size() / record_bytes; left > 0;) {
    const std::uint64_t room = path_.limit > path_.head ? path_.limit - path_.head : 0;
    const std::uint64_t run = std::min({left, head_stride_, room});
    if (run == 0) {
      if (waits_.admit(path_.head + 1, deadline)) continue;
      attend();  // for the records stored before
      return waits_.last_error();
    }
    store_run(record, run);
    record += run * record_bytes;
    left -= run;
  }
  attend();
  return absl::OkStatus();
}

void MirrorRun::attend() {
  if (!path_.attention.is_raised()) return;
  const std::uint32_t bits = path_.attention.take();
  if ((bits & kServiceSleeper) != 0) control_.service_thread().sleeper().signal();
  if ((bits & kFileSleeper) == 0) return;
  control_.file_thread()->sleeper().signal();
  waits_.end_if_failed();
}

void MirrorRun::raise_origin_durable(Sequence durable) {
  origin_.raise_durable(durable);
  control_.file_thread()->sleeper().signal();
}

absl::Status MirrorRun::end_journal() {
  return control_.close_journal();
}

// The condition first: a reader that misses records in the journal then also finds the reason.
void MirrorRun::continue_without_journal(int sys_errno) {
  store_journal_condition(session_.ring->words(), {JournalState::kFailed, sys_errno});
  control_.service_thread().sleeper().signal();
  gate_.raise(kSequenceMax);
}

void MirrorRun::leave_readers() {
  if (std::exchange(has_readers_, false)) control_.close_socket();
}

absl::Status MirrorRun::end_ring(bool was_closed) {
  if (!std::exchange(has_ring_, false)) return absl::OkStatus();
  if (was_closed) store_ring_state(session_.ring->words(), RingState::kClosed);
  leave_readers();
  const absl::Status removed = remove_names(was_closed);
  control_.release_journal();
  session_.queue.reset();
  session_.ring->let_go();
  return removed;
}

absl::Status MirrorRun::remove_names(bool was_closed) {
  absl::Status result;
  if (was_closed) {
    session_.description.closed = true;
    result = write_bus_description(*session_.bus_disk, session_.options->directory,
                                   session_.description);
  }
  result.Update(remove_ring(*session_.ring));
  const absl::Status withdrawn = withdraw_from_machine(session_.announcement);
  if (!withdrawn.ok()) {
    session_.options->log(log_entry(LogEvent::kNotAnnounced, std::string(withdrawn.message())));
  }
  return result;
}

}  // namespace lapwing
