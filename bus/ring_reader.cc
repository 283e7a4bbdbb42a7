#include "bus/ring_reader.h"
#include "proto/slot_stamp.h"

#include <algorithm>

namespace lapwing {
namespace {

// Into the second level cache, since a core can await more lines for that one than for its first
// (docs/adr/0012-reading-in-runs.md).
void prefetch_for_load(const std::byte* slot) {
  constexpr int kLoad = 0;
  constexpr int kSecondLevel = 2;
  __builtin_prefetch(slot, kLoad, kSecondLevel);
}

}  // namespace

RingReadResult RingReader::explain(SlotReadResult read, Sequence n) const {
  // A stamp of n or of a lap before n: bounds hold by themselves, and head, which every publish
  // moves, need not be fetched to find a slot empty.
  if (read.outcome == SlotRead::kNotYet) {
    if (stamp_is_corrupt(read.stamp, n, n, capacity_)) {
      return {RingRead::kCorrupt, kNoSequence, read.stamp};
    }
    return {RingRead::kEmpty};
  }
  const Sequence newest = head();  // after the stamp
  if (stamp_is_corrupt(read.stamp, n, newest, capacity_)) {
    return {RingRead::kCorrupt, kNoSequence, read.stamp};
  }
  return {RingRead::kLapped, resume_after_lap(n, read.stamp, newest, capacity_)};
}

// The compiler is given the size where it is one of DBN's, as in SlotProtocol: a loop around
// straight-line code.
template <std::size_t kBytes>
RingRun RingReader::run_of(Sequence first, std::byte* out, std::uint64_t room,
                           Sequence& seen_head) const {
  const std::size_t record_bytes = kBytes != 0 ? kBytes : record_bytes_;
  for (std::uint64_t i = 0; i < room; ++i) {
    const Sequence n = first + i;
    if (n + kReadAheadSlots <= seen_head) {
      prefetch_for_load(slot(n + kReadAheadSlots));
    } else if (i == kRunRecordsMin) {
      seen_head = head();
    }
    const SlotReadResult read =
        SlotForm::load_slot(slot(n), n, out + i * record_bytes, record_bytes);
    if (read.outcome != SlotRead::kRecord) return {i, explain(read, n)};
  }
  return {room};
}

RingRun RingReader::read_run(Sequence first, std::byte* out, std::uint64_t room,
                             Sequence& seen_head) const {
  if (room > 0 && first < ring_first_) return {0, settle_below_first(first)};
  if (record_bytes_ == 56) return run_of<56>(first, out, room, seen_head);
  if (record_bytes_ == 80) return run_of<80>(first, out, room, seen_head);
  return run_of<0>(first, out, room, seen_head);
}

RingReadResult RingReader::settle_below_first(Sequence n) const {
  return {RingRead::kLapped, std::max(ring_first_, resume_after_lap(n, 0, head(), capacity_))};
}

}  // namespace lapwing
