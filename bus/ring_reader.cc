#include "bus/ring_reader.h"

#include <algorithm>

namespace lapwing {

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

RingReadResult RingReader::settle_below_first(Sequence n) const {
  return {RingRead::kLapped, std::max(ring_first_, resume_after_lap(n, 0, head(), capacity_))};
}

}  // namespace lapwing
