// The slot protocol, with which one publisher passes a record to any number of readers. It does not
// need a list of the readers. A slot is a 64-bit stamp and the record as 64-bit words, the last one
// zero-padded.
//
//     publisher writes n                        subscriber reads n
//     W1 stamp  = 2n-1  release                 R1 stamp  acquire         must be 2n or more
//     W2 word_i = v_i   release                 R2 x_i = word_i  acquire
//     W3 stamp  = 2n    release                 R3 stamp  acquire         must be 2n
//     W4 head   = n     release
//
// A slot's stamps only grow. R1 read 2n or more, so if R3 reads 2n, R1 read 2n as well. One
// comparison before the copy and one after it are therefore enough.
//
// - The copy is not older: R1 reads W3(n), so every W2(n) happens before R2.
// - The copy is not newer: if R2 read a word of m > n, that W2(m) (release) and R2 (acquire)
//   synchronise. W1(m) is before W2(m), so R3 must see 2m-1 or more. This is not 2n, and the reader
//   discards the copy.
//
// An accepted record is therefore exactly the published one. On x86-64, all accesses are plain
// moves.
//
// This also holds if W1 and R3 are relaxed. They are release and acquire for a reader that is
// lapped. After R1 and R3 it must see every head and every `archived` that the publisher saw or
// stored before W1(m). Otherwise it would report a good stamp as damage, or a record that is in the
// journal as lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/detail/slot_layout.h"
#include "lapwing/sequence.h"

namespace lapwing {

enum class SlotRead {
  kRecord,  // the copy is exactly record n
  kNotYet,  // record n is not in the slot yet
  kNewer,   // the slot contains a later record, or one is being written
};

// The outcome and the stamp that decided it.
struct SlotReadResult {
  SlotRead outcome;
  Word stamp;
};

constexpr SlotReadResult judge_stamp(Word stamp, Sequence n) {
  if (stamp > ready_stamp(n)) return {SlotRead::kNewer, stamp};
  return {SlotRead::kNotYet, stamp};
}

// Returns whether the slot may contain record n. Orders nothing; the R1 of the following load does.
inline bool slot_is_ready(const std::byte* slot, Sequence n) {
  const Word& stamp = *reinterpret_cast<const Word*>(slot);
  return detail::load(stamp, std::memory_order_relaxed) >= ready_stamp(n);
}

// Moves one word at a time, each with its memory order. Correct on every processor.
struct WordMoves {
  // W2 for all words of a record of `bytes` bytes. Reads no other byte; zero-pads the last word.
  [[gnu::always_inline]] static void store_words(Word* words, const std::byte* record,
                                                 std::size_t bytes) {
    for_each_word(bytes / 8, [=](std::size_t i) {
      Word value;
      std::memcpy(&value, record + 8 * i, 8);
      // W2; pairs with R2. With a weaker order, R2 may read this word while R3 reads the old stamp.
      detail::store(words[i], value, std::memory_order_release);
    });
    if (bytes % 8 != 0) {
      Word value = 0;
      std::memcpy(&value, record + bytes / 8 * 8, bytes % 8);
      detail::store(words[bytes / 8], value, std::memory_order_release);  // W2
    }
  }

  // R2 for all words of a record of `bytes` bytes. Writes no other byte.
  [[gnu::always_inline]] static void load_words(const Word* words, std::byte* record,
                                                std::size_t bytes) {
    for_each_word(bytes / 8, [=](std::size_t i) {
      // R2; pairs with W2(m > n). With a weaker order, R3 may be read before this word.
      const Word value = detail::load(words[i], std::memory_order_acquire);
      std::memcpy(record + 8 * i, &value, 8);
    });
    if (bytes % 8 != 0) {
      const Word value = detail::load(words[bytes / 8], std::memory_order_acquire);  // R2
      std::memcpy(record + bytes / 8 * 8, &value, bytes % 8);
    }
  }
};

// The protocol. `Moves` copies the words between the stamps. It is WordMoves, or in tests/torture a
// variant that pauses in the middle of a record. If the compiler knows record_bytes, the result is
// straight-line code; proto/hot_sizes.h lists the sizes with such code.
template <typename Moves>
struct SlotProtocol {
  // Writes record n into `slot`. Reads exactly `record_bytes` bytes of `record`, at any alignment.
  [[gnu::always_inline]] static void store(std::byte* slot, Sequence n, const std::byte* record,
                                           std::size_t record_bytes) {
    Word* const words = reinterpret_cast<Word*>(slot);
    // W1; pairs with R3 and R1. W2's release orders it before every word. Without W1, a reader that
    // copies old and new words would still find the old stamp. With a weaker order, a reader that
    // it laps may continue with a head or an `archived` from long before.
    detail::store(words[0], writing_stamp(n), std::memory_order_release);
    Moves::store_words(words + 1, record, record_bytes);  // W2
    // W3; pairs with R1. With a weaker order, R1 may accept the stamp before the words are visible.
    detail::store(words[0], ready_stamp(n), std::memory_order_release);
  }

  // Copies record n from `slot` to `record` (`record_bytes` bytes). It makes one pass and never
  // waits for the writer. `record` contains garbage unless the outcome is kRecord.
  [[gnu::always_inline]] static SlotReadResult load(const std::byte* slot, Sequence n,
                                                    std::byte* record, std::size_t record_bytes) {
    const Word* const words = reinterpret_cast<const Word*>(slot);
    // R1; pairs with W3(n). With a weaker order, R2 may read words from before n was written.
    const Word before = detail::load(words[0], std::memory_order_acquire);
    if (before < ready_stamp(n)) return {SlotRead::kNotYet, before};
    Moves::load_words(words + 1, record, record_bytes);  // R2
    // R3; pairs with W1(m > n) and W3(m > n). R2's acquire orders it after every word. With a
    // weaker order, a lapped reader may continue with a head or an `archived` from long before.
    const Word after = detail::load(words[0], std::memory_order_acquire);
    if (after != ready_stamp(n)) return judge_stamp(after, n);
    return {SlotRead::kRecord, after};
  }
};

using WordProtocol = SlotProtocol<WordMoves>;

// W4; pairs with load_head (proto/ring_words.h). With a weaker order, a reader that sees head = n
// may not find n in its slot, and the file thread may write a block before its words are visible.
inline void store_head(Word& head, Sequence n) {
  detail::store(head, n, std::memory_order_release);
}

// Prefetches the slot's first line into the second-level cache, because a core can wait for more
// lines there than in its first level (docs/explanation/adr/0007-prefetching-publisher.md and
// 0012-reading-in-runs.md). It and its callers are always inlined, because gcc removes calls to a
// function that does nothing else.
[[gnu::always_inline]] inline void prefetch_slot(const std::byte* slot) {
  constexpr int kLoad = 0;
  constexpr int kSecondLevel = 2;
  __builtin_prefetch(slot, kLoad, kSecondLevel);
}

}  // namespace lapwing
