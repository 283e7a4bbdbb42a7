#include "bus/ring_reader.h"

#include <algorithm>

#include "proto/hot_sizes.h"
#include "proto/slot_stamp.h"

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

// `record_bytes` is a KnownSize, for a loop around straight-line code, or the number.
template <typename Size>
RingRun RingReader::run_of(Size record_bytes, Sequence first, std::byte* out, std::uint64_t room,
                           Sequence& seen_head) const {
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
  return with_hot_size(
      record_bytes_, [&](auto bytes) { return run_of(bytes, first, out, room, seen_head); },
      [&] { return run_of(std::size_t{record_bytes_}, first, out, room, seen_head); });
}

RingReadResult RingReader::settle_below_first(Sequence n) const {
  return {RingRead::kLapped, std::max(ring_first_, resume_after_lap(n, 0, head(), capacity_))};
}

}  // namespace lapwing
