// The publish path's end in the ring: stores records into slots and moves head.
//
// Thread safety: one thread, ever. Borrows the mapping of a RingFile, which must outlive it.
// Cost: plain stores only; no allocation, no system call, no read of anything a reader writes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bus/ring_file.h"
#include "proto/ring_words.h"
#include "proto/slot_form.h"

namespace lapwing {

// A store asks for the slot this many records ahead, so that its memory is there when its turn
// comes (docs/adr/0007-prefetching-publisher.md).
inline constexpr std::uint64_t kPrefetchSlots = 128;

class RingWriter {
 public:
  explicit RingWriter(const RingFile& file)
      : slots_(file.slots()),
        words_(&file.words()),
        mask_(file.header().capacity - 1),
        slot_shift_(static_cast<unsigned>(std::countr_zero(file.header().slot_bytes))),
        record_bytes_(file.header().record_bytes) {}

  std::uint32_t record_bytes() const { return record_bytes_; }

  // Stores record n; readers may take it at once. The caller has made sure that n may be written
  // (the journal gate), that n follows the record before it, and that head is at n - capacity or
  // beyond (stamp_is_corrupt counts on it). `record` has record_bytes() bytes.
  void store(Sequence n, const std::byte* record) {
    prefetch_for_store(slot(n + kPrefetchSlots));
    SlotForm::store_slot(slot(n), n, record, record_bytes_);
  }
  // The same for the sizes that need no call; false, and nothing is stored, for others. To ask for
  // the slot ahead only after the store takes longer (bench/LOG.md).
  [[gnu::always_inline]] bool store_inline(Sequence n, const std::byte* record) {
    prefetch_for_store(slot(n + kPrefetchSlots));
    return SlotForm::store_inline(slot(n), n, record, record_bytes_);
  }

  // W4 of the slot protocol.
  void move_head(Sequence n) { store_head(*words_, n); }

 private:
  std::byte* slot(Sequence n) const { return slots_ + (((n - 1) & mask_) << slot_shift_); }

  std::byte* slots_;
  RingWords* words_;
  std::uint64_t mask_;
  unsigned slot_shift_;
  std::uint32_t record_bytes_;
};

}  // namespace lapwing
