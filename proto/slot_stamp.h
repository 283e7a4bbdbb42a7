// The arithmetic of a slot: the sequence of its stamp, and the conclusions that a lapped reader may
// draw from it. The stamps themselves and the atomic accesses are in lapwing/detail/slot_layout.h
// and slot_words.h.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/detail/slot_layout.h"
#include "lapwing/sequence.h"

namespace lapwing {

// Returns the sequence of a stamp, ready or being written. kNoSequence for stamp 0.
constexpr Sequence stamp_sequence(Word stamp) {
  return stamp / 2 + stamp % 2;
}
// Returns the newest sequence that a stamp proves to have been published.
constexpr Sequence stamp_published(Word stamp) {
  return stamp / 2;
}

// Returns the number of 64-bit words of a record, the last one padded.
constexpr std::size_t words_for(std::size_t record_bytes) {
  return (record_bytes + 7) / 8;
}

// Returns where a lapped reader continues. `stamp` may be ahead of `head`, which advances at the
// end of a batch, so the larger of the two is used. The reader skips an eighth of the ring as a
// head start, and no other record that is still in the ring. `head` must be loaded after `stamp`.
constexpr Sequence resume_after_lap(Sequence n, Word stamp, Sequence head, std::uint64_t capacity) {
  const Sequence lead = head > stamp_published(stamp) ? head : stamp_published(stamp);
  const std::uint64_t keep = capacity - capacity / 8;
  const Sequence floor = lead > keep ? lead - keep : 0;
  return floor > n + 1 ? floor : n + 1;
}

// Returns true if a correct publisher cannot have left `stamp` in the slot of n. `head` must be
// loaded after `stamp`; otherwise a reader that was descheduled in between would report false
// damage. The publisher writes n only once head is at n - capacity or beyond. The journal gate
// ensures this, because `archived` is at most head. Without a journal, a batch longer than the ring
// must advance head along the way.
constexpr bool stamp_is_corrupt(Word stamp, Sequence n, Sequence head, std::uint64_t capacity) {
  if (stamp == 0) return false;
  const Sequence m = stamp_sequence(stamp);
  return ((m ^ n) & (capacity - 1)) != 0 || (m > head && m - head > capacity);
}

// Returns the oldest sequence that a ring can still contain. Saturates, because the values are
// unsigned.
constexpr Sequence ring_oldest(Sequence ring_first, Sequence head, std::uint64_t capacity) {
  const Sequence by_lap = head >= capacity ? head - capacity + 1 : 1;
  return ring_first > by_lap ? ring_first : by_lap;
}

}  // namespace lapwing
