#include "bus/ring_reader.h"

#include <algorithm>

#include "proto/hot_sizes.h"
#include "proto/slot_stamp.h"

namespace lapwing {

RingReadResult RingReader::explain(SlotReadResult read, Sequence n) const {
  // A stamp of n or of an earlier lap needs no upper bound. So head, whose line every publish
  // modifies, is not loaded to find an empty slot.
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

// Takes up to `count` consecutive records, beginning with `first`, whose slots are adjacent. Stops
// at a record that is not available. With kAsk, it prefetches `ahead` together with the first
// record, and the following slots with the following records.
template <bool kAsk, typename Size>
RingRun RingReader::stretch_of(Size record_bytes, Sequence first, std::byte* out,
                               std::uint64_t count, const std::byte* ahead) const {
  const std::size_t slot_bytes = std::size_t{1} << slot_shift_;
  const std::byte* place = slot(first);
  for (Sequence n = first; n < first + count; ++n) {
    if constexpr (kAsk) {
      prefetch_slot(ahead);
      ahead += slot_bytes;
    }
    const SlotReadResult read = SlotForm::load_known(place, n, out, record_bytes);
    if (read.outcome != SlotRead::kRecord) return {n - first, explain(read, n)};
    place += slot_bytes;
    out += record_bytes;
  }
  return {count};
}

// `record_bytes` is a KnownSize, for a loop around straight-line code, or a number. Reads in
// stretches. Within a stretch, either all records prefetch or none does, and slots do not wrap
// around the end of the ring.
template <typename Size>
RingRun RingReader::run_of(Size record_bytes, Sequence first, std::byte* out, std::uint64_t room,
                           Sequence& seen_head) const {
  std::uint64_t taken = 0;
  bool looked = false;
  while (taken < room) {
    const Sequence n = first + taken;
    if (!looked && taken >= kRunMin && n + kReadAheadSlots > seen_head) {
      seen_head = head();
      looked = true;
    }
    std::uint64_t count = std::min(room - taken, slots_left(n));
    RingRun run;
    if (n + kReadAheadSlots <= seen_head) {
      const Sequence ahead = n + kReadAheadSlots;
      count = std::min({count, slots_left(ahead), seen_head - ahead + 1});
      run = stretch_of<true>(record_bytes, n, out, count, slot(ahead));
    } else {
      if (!looked && taken < kRunMin) count = std::min(count, kRunMin - taken);
      run = stretch_of<false>(record_bytes, n, out, count, nullptr);
    }
    taken += run.records;
    if (run.end.outcome != RingRead::kRecord) return {taken, run.end};
    out += run.records * record_bytes;
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
