// The arithmetic of a slot: which sequence its stamp speaks of, and what a reader that was lapped
// may conclude from it. The stamps themselves and the atomic accesses are in
// lapwing/detail/slot_layout.h and slot_words.h.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/detail/slot_layout.h"
#include "lapwing/sequence.h"

namespace lapwing {

// The sequence a stamp speaks of, whether it is being written or ready. Stamp 0 speaks of none.
constexpr Sequence stamp_sequence(Word stamp) {
  return stamp / 2 + stamp % 2;
}
// The newest sequence that a stamp proves to be published.
constexpr Sequence stamp_published(Word stamp) {
  return stamp / 2;
}

// 64-bit words of a record, the last one padded.
constexpr std::size_t words_for(std::size_t record_bytes) {
  return (record_bytes + 7) / 8;
}

// Where a lapped reader goes on. The offending stamp may be ahead of head, which moves at the end
// of a batch, so the lead is taken from both; an eighth of the ring is left as a head start, and
// nothing that is still in the ring beyond that is thrown away. `head` must be loaded after
// `stamp`.
constexpr Sequence resume_after_lap(Sequence n, Word stamp, Sequence head, std::uint64_t capacity) {
  const Sequence lead = head > stamp_published(stamp) ? head : stamp_published(stamp);
  const std::uint64_t keep = capacity - capacity / 8;
  const Sequence floor = lead > keep ? lead - keep : 0;
  return floor > n + 1 ? floor : n + 1;
}

// True if no correct publisher can have left `stamp` in the slot of n. `head` must be loaded after
// `stamp` was, or a reader that was descheduled in between would cry wolf. The publisher's part: it
// writes n only once head is at n - capacity or beyond. The journal gate sees to that, `archived`
// being at most head; without a journal, a batch longer than the ring must move head on the way.
constexpr bool stamp_is_corrupt(Word stamp, Sequence n, Sequence head, std::uint64_t capacity) {
  if (stamp == 0) return false;
  const Sequence m = stamp_sequence(stamp);
  return ((m ^ n) & (capacity - 1)) != 0 || (m > head && m - head > capacity);
}

// The oldest sequence that a ring can still hold. Saturates: all of these are unsigned.
constexpr Sequence ring_oldest(Sequence ring_first, Sequence head, std::uint64_t capacity) {
  const Sequence by_lap = head >= capacity ? head - capacity + 1 : 1;
  return ring_first > by_lap ? ring_first : by_lap;
}

}  // namespace lapwing
