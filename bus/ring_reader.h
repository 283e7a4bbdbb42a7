// One reader's view of a ring: takes record n, or says exactly why not.
//
// Thread safety: const, wait-free, any thread; borrows a RingMap, which must outlive it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "bus/ring_map.h"
#include "lapwing/detail/atomic_word.h"
#include "lapwing/detail/slot_words.h"
#include "lapwing/sequence.h"
#include "proto/ring_words.h"
#include "proto/slot_form.h"
#include "proto/slot_stamp.h"

namespace lapwing {

enum class RingRead {
  kRecord,   // the copy is exactly record n
  kEmpty,    // n is not published yet
  kLapped,   // n is overwritten; `resume` says where to go on
  kCorrupt,  // the slot holds what no correct publisher can have written
};

struct RingReadResult {
  RingRead outcome;
  Sequence resume = kNoSequence;  // lapped: the first sequence to try next; n … resume-1 is the gap
  Word stamp = 0;                 // corrupt: what stood there
};

// Consecutive records that were copied, and why there are no more: the outcome of the one behind
// them; kRecord where the room was filled.
struct RingRun {
  std::uint64_t records = 0;
  RingReadResult end = {RingRead::kRecord};
};

// A run asks for the slot this many records ahead where it knows that it has been published, so
// that a reader that lags reads from its cache (docs/explanation/adr/0012-reading-in-runs.md). It looks at head
// for that once it has found kRunMin records one after the other, and not before: head is a line
// that every publish takes away again.
inline constexpr std::uint64_t kReadAheadSlots = 96;

class RingReader {
 public:
  explicit RingReader(const RingMap& map)
      : slots_(map.slots()),
        words_(&map.words()),
        ring_first_(map.header().ring_first_sequence),
        capacity_(map.header().capacity),
        slot_shift_(static_cast<unsigned>(std::countr_zero(map.header().slot_bytes))),
        record_bytes_(map.header().record_bytes) {}

  std::uint32_t record_bytes() const { return record_bytes_; }
  std::uint64_t capacity() const { return capacity_; }
  // What a ReadPath is made of.
  Sequence first() const { return ring_first_; }
  const std::byte* slots() const { return slots_; }
  unsigned slot_shift() const { return slot_shift_; }
  Sequence head() const { return load_head(*words_); }

  // The oldest sequence that can still be read; head + 1 at most.
  Sequence oldest() const { return ring_oldest(ring_first_, head(), capacity_); }

  // How many records there are from `next` on, which may lie beyond head.
  std::uint64_t lag(Sequence next) const {
    const Sequence newest = head();
    return newest >= next ? newest - next + 1 : 0;
  }

  // One pass, no loop. `out` has record_bytes() bytes and holds garbage unless the outcome is
  // kRecord. A sequence below the ring's first, 0 included, is lapped: the zeroed memory of a slot
  // that was never written does not answer for it.
  [[gnu::always_inline]] RingReadResult try_read(Sequence n, std::byte* out) const {
    if (n < ring_first_) [[unlikely]] {
      return settle_below_first(n);
    }
    const SlotReadResult read = SlotForm::load_slot(slot(n), n, out, record_bytes_);
    if (read.outcome == SlotRead::kRecord) [[likely]] {
      return {RingRead::kRecord};
    }
    return explain(read, n);
  }

  // try_read of first, first + 1, … laid end to end in `out`, until one is not there or `room` of
  // them are. Wait-free: as many passes as there are records, and one more. `seen_head` is a head
  // that the caller has seen, for the next run to begin with.
  RingRun read_run(Sequence first, std::byte* out, std::uint64_t room, Sequence& seen_head) const;

  // Whether a look at record n would find something: it, or a later one. One load.
  bool has(Sequence n) const { return slot_is_ready(slot(n), n); }

 private:
  const std::byte* slot(Sequence n) const {
    return slots_ + (((n - 1) & (capacity_ - 1)) << slot_shift_);
  }
  // From n on to the end of the ring's memory.
  std::uint64_t slots_left(Sequence n) const { return capacity_ - ((n - 1) & (capacity_ - 1)); }
  template <bool kAsk, typename Size>
  RingRun stretch_of(Size record_bytes, Sequence first, std::byte* out, std::uint64_t count,
                     const std::byte* ahead) const;
  template <typename Size>
  RingRun run_of(Size record_bytes, Sequence first, std::byte* out, std::uint64_t room,
                 Sequence& seen_head) const;
  RingReadResult explain(SlotReadResult read, Sequence n) const;
  RingReadResult settle_below_first(Sequence n) const;

  const std::byte* slots_;
  const RingWords* words_;
  Sequence ring_first_;
  std::uint64_t capacity_;
  unsigned slot_shift_;
  std::uint32_t record_bytes_;
};

}  // namespace lapwing
