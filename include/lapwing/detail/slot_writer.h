// The part of the publish path that writes to the ring: stores records into slots and advances
// head.
//
// Thread safety: always the same thread. Borrows the ring's mapping, which must outlive it.
// Cost: only plain stores. No allocation and no system call, and it reads nothing that a reader
// writes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lapwing/detail/slot_words.h"
#include "lapwing/sequence.h"

namespace lapwing::detail {

// A store prefetches the slot this many records ahead
// (docs/explanation/adr/0007-prefetching-publisher.md).
inline constexpr std::uint64_t kPrefetchSlots = 256;

class SlotWriter {
 public:
  // `capacity` and `slot_bytes` are powers of two.
  SlotWriter(std::byte* slots, Word& head, std::uint64_t capacity, std::uint32_t slot_bytes,
             std::uint32_t record_bytes)
      : slots_(slots),
        head_(&head),
        mask_(capacity - 1),
        slot_shift_(static_cast<unsigned>(std::countr_zero(slot_bytes))),
        record_bytes_(record_bytes) {}

  std::uint32_t record_bytes() const { return record_bytes_; }
  std::byte* slot(Sequence n) const { return slot(n, slot_shift_); }
  // Call it before the store: a prefetch after the store takes longer (bench/LOG.md).
  [[gnu::always_inline]] void prefetch(Sequence n) const {
    prefetch_slot(slot(n + kPrefetchSlots));
  }

  // Stores record n, of record_bytes() bytes. Readers may take it at once. The caller has checked
  // that n may be written (the journal gate) and that n follows the previous record. Head is at n -
  // capacity or beyond, which stamp_is_corrupt requires.
  template <std::size_t kBytes>
  [[gnu::always_inline]] void store(Sequence n, const std::byte* record) const {
    constexpr unsigned kShift = slot_shift_for(kBytes);
    prefetch_slot(slot(n + kPrefetchSlots, kShift));
    WordProtocol::store(slot(n, kShift), n, record, kBytes);
  }
  // W4 of the slot protocol.
  [[gnu::always_inline]] void move_head(Sequence n) const { store_head(*head_, n); }

 private:
  std::byte* slot(Sequence n, unsigned shift) const {
    return slots_ + (((n - 1) & mask_) << shift);
  }

  std::byte* slots_;
  Word* head_;
  std::uint64_t mask_;
  unsigned slot_shift_;
  std::uint32_t record_bytes_;
};

}  // namespace lapwing::detail
