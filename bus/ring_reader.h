// One reader's view of a ring. It takes record n, or returns exactly why it cannot.
//
// Thread safety: const, wait-free, any thread. Borrows a RingMap, which must outlive it.
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
  kEmpty,    // n has not been published yet
  kLapped,   // n has been overwritten; continue at `resume`
  kCorrupt,  // the slot contains a stamp that a correct publisher cannot have written
};

struct RingReadResult {
  RingRead outcome;
  Sequence resume = kNoSequence;  // lapped: the first sequence to try next; n … resume-1 is the gap
  Word stamp = 0;                 // corrupt: the stamp in the slot
};

// Consecutive records that were copied, and the outcome of the record after them, or kRecord if the
// room was filled.
struct RingRun {
  std::uint64_t records = 0;
  RingReadResult end = {RingRead::kRecord};
};

// A run prefetches the slot this many records ahead if it is known to be published, so that a
// lagging reader reads from its cache (docs/explanation/adr/0012-reading-in-runs.md). It loads head
// for that only after it has found kRunMin consecutive records, because every publish takes the
// line of head away from the reader.
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
  // The values for a ReadPath.
  Sequence first() const { return ring_first_; }
  const std::byte* slots() const { return slots_; }
  unsigned slot_shift() const { return slot_shift_; }
  Sequence head() const { return load_head(*words_); }

  // The oldest sequence that can still be read; at most head + 1.
  Sequence oldest() const { return ring_oldest(ring_first_, head(), capacity_); }

  // Returns the number of records at and after `next`, which may be beyond head.
  std::uint64_t lag(Sequence next) const {
    const Sequence newest = head();
    return newest >= next ? newest - next + 1 : 0;
  }

  // Makes one pass, without a loop. `out` has record_bytes() bytes and contains garbage unless the
  // outcome is kRecord. A sequence below the ring's first, including 0, is lapped. So the
  // zeros of a slot that was never written are not read as "not published yet".
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

  // try_read of first, first + 1, … into `out`, end to end, until a record is not available or
  // `room` records are read. Wait-free: makes one pass for each record, and one more. `seen_head`
  // is a head that the caller has seen. It is updated for the next run.
  RingRun read_run(Sequence first, std::byte* out, std::uint64_t room, Sequence& seen_head) const;

  // Returns whether the slot of n contains record n or a later one. Costs one load.
  bool has(Sequence n) const { return slot_is_ready(slot(n), n); }

 private:
  const std::byte* slot(Sequence n) const {
    return slots_ + (((n - 1) & (capacity_ - 1)) << slot_shift_);
  }
  // The number of slots from that of n to the end of the ring's memory.
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
