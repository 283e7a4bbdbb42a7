// One reader's view of a ring: takes record n, or says exactly why not.
//
// Thread safety: const, wait-free, any thread; borrows a RingMap, which must outlive it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "bus/ring_map.h"
#include "proto/identity.h"
#include "proto/shared_words.h"
#include "proto/slot_form.h"

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
  Sequence head() const { return load_head(*words_); }

  // The oldest sequence that can still be read; head + 1 at most.
  Sequence oldest() const { return ring_oldest(ring_first_, head(), capacity_); }

  // One pass, no loop. `out` has record_bytes() bytes and holds garbage unless the outcome is
  // kRecord. A sequence below the ring's first, 0 included, is lapped: the zeroed memory of a slot
  // that was never written does not answer for it.
  RingReadResult try_read(Sequence n, std::byte* out) const {
    if (n < ring_first_) [[unlikely]] {
      return settle_below_first(n);
    }
    const std::byte* const slot = slots_ + (((n - 1) & (capacity_ - 1)) << slot_shift_);
    const SlotReadResult read = SlotForm::load_slot(slot, n, out, record_bytes_);
    if (read.outcome == SlotRead::kRecord) [[likely]] {
      return {RingRead::kRecord};
    }
    return explain(read, n);
  }

 private:
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
