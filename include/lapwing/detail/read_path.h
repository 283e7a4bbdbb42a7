// One cache line with everything that a subscriber needs, besides the slot, to take a record from
// the ring.
//
// Between two calls, a subscriber that reads the ring leaves the path open. Records below `limit`
// are then taken only here, and `next` - `counted` is their number. Every other call closes the
// path first (subscribers/read_cursor.h).
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/detail/slot_words.h"
#include "lapwing/sequence.h"

namespace lapwing::detail {

// Copies word by word, as the words were loaded. A wider load would have to wait for the narrower
// stores before it.
template <typename Record>
[[gnu::always_inline]] inline void copy_words(Record& record, const Word* words) {
  std::byte* const bytes = reinterpret_cast<std::byte*>(&record);
  for_each_word(sizeof(Record) / sizeof(Word), [=](std::size_t i) {
    std::memcpy(bytes + i * sizeof(Word), &words[i], sizeof(Word));
  });
  constexpr std::size_t kTail = sizeof(Record) % sizeof(Word);
  if constexpr (kTail != 0) {
    std::memcpy(bytes + sizeof(Record) - kTail, &words[sizeof(Record) / sizeof(Word)], kTail);
  }
}

struct alignas(64) ReadPath {
  const std::byte* slots = nullptr;
  std::uint64_t mask = 0;  // capacity - 1
  std::uint32_t slot_shift = 0;
  std::uint32_t record_bytes = 0;
  Sequence next = 1;        // next record to deliver
  Sequence limit = 0;       // 0: closed
  Sequence counted = 1;     // records from here to `next` were taken since the path was opened
  std::uint32_t looks = 0;  // polls of a waiting call before it does anything else
  std::uint32_t live_within = 0;  // published records that a live subscriber may not have taken
  std::byte* place = nullptr;     // memory for a record that is returned in place

  const std::byte* slot(Sequence n, unsigned shift) const {
    return slots + (((n - 1) & mask) << shift);
  }

  // Implements Subscriber::live(): the path is open, and at most `live_within` published records
  // were not taken.
  bool is_near_head() const {
    const Sequence beyond = next + live_within;
    return limit != 0 && !slot_is_ready(slot(beyond, slot_shift), beyond);
  }

  // Takes the next record if one of up to 1 + `more_looks` polls finds it. Returns false and leaves
  // `record` unchanged if the path is closed, the record size differs, or there is no record.
  template <typename Record>
  [[gnu::always_inline]] bool take(Record& record, std::uint32_t more_looks) {
    static_assert(std::is_trivially_copyable_v<Record>);
    if (next >= limit || record_bytes != sizeof(Record)) [[unlikely]] {
      return false;
    }
    const Sequence n = next;
    const std::byte* const from = slot(n, slot_shift_for(sizeof(Record)));
    Word words[(sizeof(Record) + sizeof(Word) - 1) / sizeof(Word)];
    const bool taken = look_until(more_looks, [&]() __attribute__((always_inline)) {
      return WordProtocol::load(from, n, reinterpret_cast<std::byte*>(words), sizeof(Record))
          .outcome;
    });
    if (!taken) return false;
    copy_words(record, words);
    next = n + 1;
    return true;
  }
  // The same for a size that is known only at run time: writes record_bytes bytes to `out`, which
  // contains garbage if there is no record.
  bool take_bytes(std::byte* out, std::uint32_t more_looks);

  // Calls look() up to 1 + `more_looks` times. Returns whether it found the record.
  template <typename Look>
  [[gnu::always_inline]] static bool look_until(std::uint32_t more_looks, const Look& look) {
    for (;; --more_looks) {
      const SlotRead outcome = look();
      if (outcome == SlotRead::kRecord) [[likely]] {
        return true;
      }
      if (outcome == SlotRead::kNewer || more_looks == 0) return false;
      spin_pause();
    }
  }
};
static_assert(sizeof(ReadPath) == 64);

}  // namespace lapwing::detail
