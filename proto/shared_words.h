// Every atomic access of Lapwing, with its partner and what breaks if it is weakened.
//
// Part 1 is the slot protocol: how one publisher hands a record to any number of readers that it
// does not know. Part 2 is the words on page 1 of the ring file. Part 3 is the words that threads
// of one publisher process share. Nothing else in the library touches an atomic; tests/house_rules
// checks that. tests/model runs parts 1 to 3 and each wrong variant of them under a C11
// memory-model checker.
//
// The slot protocol. A slot is a 64-bit stamp and the record as 64-bit words, the last zero-padded.
//
//     publisher writes n                        subscriber reads n
//     W1 stamp  = 2n-1  release                 R1 a = stamp  acquire     must be 2n
//     W2 word_i = v_i   release                 R2 x_i = word_i  acquire
//     W3 stamp  = 2n    release                 R3 stamp  acquire         must still be 2n
//     W4 head   = n     release
//
// Not older: R1 reads W3(n), so every W2(n) happens before R2.
// Not newer: if R2 read a word of m > n, that W2(m) (release) and R2 (acquire) synchronise. W1(m)
// comes before W2(m), so R3 must see 2m-1 or later, which is not 2n, and the copy is thrown away.
// An accepted record is therefore exactly what was published. On x86-64 all of this is plain moves.
// That much holds with W1 and R3 relaxed. They are release and acquire because a reader that finds
// itself lapped goes on from there: behind R1 and R3 it must see every head and every `archived`
// that the publisher saw or stored before W1(m), or it takes a good stamp for damage, or a record
// that is in the journal for lost.
//
// Thread safety: the store_ functions belong to the one thread that owns the word; every load_ may
// run in any thread of any process that maps the word, read-only mappings included.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "proto/identity.h"
#include "proto/ring_layout.h"

namespace lapwing {

using Word = std::uint64_t;

namespace internal {

inline Word load(const Word& word, std::memory_order order) {
  // atomic_ref of a const object arrives with C++26; a lock-free load never writes.
  return std::atomic_ref<Word>(const_cast<Word&>(word)).load(order);
}

inline void store(Word& word, Word value, std::memory_order order) {
  std::atomic_ref<Word>(word).store(value, order);
}

static_assert(std::atomic_ref<Word>::is_always_lock_free);

}  // namespace internal

// The pause that belongs into every spin: without it the shared line itself moves slower.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// -------------------------------------------------------------------------------------------------
// Part 1: the slot protocol
// -------------------------------------------------------------------------------------------------

constexpr Word writing_stamp(Sequence n) {
  return 2 * n - 1;
}
constexpr Word ready_stamp(Sequence n) {
  return 2 * n;
}
// The sequence a stamp speaks of, whether it is being written or ready. Stamp 0 speaks of none.
constexpr Sequence stamp_sequence(Word stamp) {
  return stamp / 2 + stamp % 2;
}
// The newest sequence that a stamp proves to be published.
constexpr Sequence stamp_published(Word stamp) {
  return stamp / 2;
}

constexpr std::size_t words_for(std::size_t record_bytes) {
  return (record_bytes + 7) / 8;
}

enum class SlotRead {
  kRecord,  // the copy is exactly record n
  kNotYet,  // record n is not in the slot yet
  kNewer,   // the slot holds, or is being given, a later record
};

// What a read saw: the outcome and the stamp that decided it.
struct SlotReadResult {
  SlotRead outcome;
  Word stamp;
};

constexpr SlotReadResult judge_stamp(Word stamp, Sequence n) {
  if (stamp > ready_stamp(n)) return {SlotRead::kNewer, stamp};
  return {SlotRead::kNotYet, stamp};
}

// Calls move(0) … move(count - 1): without a loop where the compiler knows the count.
template <typename Move>
[[gnu::always_inline]] inline void for_each_word(std::size_t count, const Move& move) {
  if (__builtin_constant_p(count)) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < count; ++i) move(i);
  } else {
    for (std::size_t i = 0; i < count; ++i) move(i);
  }
}

// Moves of one word, each with its order. Correct on every processor.
struct WordMoves {
  // W2 for all words of a record of `bytes` bytes. Reads no other byte; zero-pads the last word.
  [[gnu::always_inline]] static void store_words(Word* words, const std::byte* record,
                                                 std::size_t bytes) {
    for_each_word(bytes / 8, [=](std::size_t i) {
      Word value;
      std::memcpy(&value, record + 8 * i, 8);
      // W2, partner R2. Weaker, and R2 may read this word while R3 still reads the old stamp.
      internal::store(words[i], value, std::memory_order_release);
    });
    if (bytes % 8 != 0) {
      Word value = 0;
      std::memcpy(&value, record + bytes / 8 * 8, bytes % 8);
      internal::store(words[bytes / 8], value, std::memory_order_release);  // W2
    }
  }

  // R2 for all words of a record of `bytes` bytes. Writes no other byte.
  [[gnu::always_inline]] static void load_words(const Word* words, std::byte* record,
                                                std::size_t bytes) {
    for_each_word(bytes / 8, [=](std::size_t i) {
      // R2, partner W2(m > n). Weaker, and R3 may be read before this word was.
      const Word value = internal::load(words[i], std::memory_order_acquire);
      std::memcpy(record + 8 * i, &value, 8);
    });
    if (bytes % 8 != 0) {
      const Word value = internal::load(words[bytes / 8], std::memory_order_acquire);  // R2
      std::memcpy(record + bytes / 8 * 8, &value, bytes % 8);
    }
  }
};

// The protocol, given the moves of the words between the stamps. Where the record is DBN's MboMsg
// or Mbp1Msg the compiler sees a constant size, and the moves become straight-line code
// (docs/adr/0005-slot-moves.md).
template <typename Moves>
struct SlotProtocol {
  // Writes record n into `slot`. Reads exactly `record_bytes` bytes of `record`, at any alignment.
  static void store_slot(std::byte* slot, Sequence n, const std::byte* record,
                         std::size_t record_bytes) {
    if (record_bytes == 56) return store(slot, n, record, 56);
    if (record_bytes == 80) return store(slot, n, record, 80);
    store_any(slot, n, record, record_bytes);
  }

  // Copies record n out of `slot` into `record` (`record_bytes` bytes). One pass, no loop on the
  // stamp, wait-free whatever the writer does. Unless the outcome is kRecord, `record` holds
  // garbage.
  static SlotReadResult load_slot(const std::byte* slot, Sequence n, std::byte* record,
                                  std::size_t record_bytes) {
    if (record_bytes == 56) return load(slot, n, record, 56);
    if (record_bytes == 80) return load(slot, n, record, 80);
    return load_any(slot, n, record, record_bytes);
  }

 private:
  // Makes the compiler forget how large the caller's buffer is: it cannot know that the branch of a
  // larger record is not taken, and would warn of an overrun.
  template <typename Byte>
  [[gnu::always_inline]] static void forget_size(Byte*& record) {
    asm("" : "+r"(record));
  }

  [[gnu::always_inline]] static void store(std::byte* slot, Sequence n, const std::byte* record,
                                           std::size_t record_bytes) {
    forget_size(record);
    Word* const words = reinterpret_cast<Word*>(slot);
    // W1, partners R3 and R1. W2's release orders it before every word; without it a reader that
    // copies old and new words would find the old stamp still in place. Weaker, and a reader that
    // it laps may go on with a head or an `archived` from long before.
    internal::store(words[0], writing_stamp(n), std::memory_order_release);
    Moves::store_words(words + 1, record, record_bytes);  // W2
    // W3, partner R1. Weaker, and R1 may accept the stamp before the words are there.
    internal::store(words[0], ready_stamp(n), std::memory_order_release);
  }

  [[gnu::always_inline]] static SlotReadResult load(const std::byte* slot, Sequence n,
                                                    std::byte* record, std::size_t record_bytes) {
    forget_size(record);
    const Word* const words = reinterpret_cast<const Word*>(slot);
    // R1, partner W3(n). Weaker, and R2 may read words from before n was written.
    const Word before = internal::load(words[0], std::memory_order_acquire);
    if (before != ready_stamp(n)) return judge_stamp(before, n);
    Moves::load_words(words + 1, record, record_bytes);  // R2
    // R3, partners W1(m > n) and W3(m > n). R2's acquire orders it after every word. Weaker, and a
    // lapped reader may go on with a head or an `archived` from long before.
    const Word after = internal::load(words[0], std::memory_order_acquire);
    if (after != ready_stamp(n)) return judge_stamp(after, n);
    return {SlotRead::kRecord, after};
  }

  [[gnu::noinline]] static void store_any(std::byte* slot, Sequence n, const std::byte* record,
                                          std::size_t record_bytes) {
    store(slot, n, record, record_bytes);
  }
  [[gnu::noinline]] static SlotReadResult load_any(const std::byte* slot, Sequence n,
                                                   std::byte* record, std::size_t record_bytes) {
    return load(slot, n, record, record_bytes);
  }
};

using WordForm = SlotProtocol<WordMoves>;  // proto/slot_form.h says which form a build uses

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

// -------------------------------------------------------------------------------------------------
// Part 2: page 1 of the ring file. The publisher's process writes, everyone reads.
// -------------------------------------------------------------------------------------------------

// W4, partner load_head. Weaker, and a reader that sees head = n might not yet find n in its slot,
// and the file thread might write a block to disk before its words are there.
inline void store_head(RingWords& words, Sequence n) {
  internal::store(words.head.value, n, std::memory_order_release);
}
inline Sequence load_head(const RingWords& words) {
  return internal::load(words.head.value, std::memory_order_acquire);
}

// Partner load_archived: in a reader it promises that the journal's files hold every sequence up to
// it; in the publishing thread, that the file thread has done reading the slots (so overwriting may
// begin). Weaker, and the next lap might be written to disk over the record before it.
inline void store_archived(RingWords& words, Sequence n) {
  internal::store(words.archived.value, n, std::memory_order_release);
}
inline Sequence load_archived(const RingWords& words) {
  return internal::load(words.archived.value, std::memory_order_acquire);
}

// Partner load_durable. Release, so that whoever reads the files after seeing it finds their sums.
inline void store_durable(RingWords& words, Sequence n) {
  internal::store(words.durable.value, n, std::memory_order_release);
}
inline Sequence load_durable(const RingWords& words) {
  return internal::load(words.durable.value, std::memory_order_acquire);
}

// Partner load_oldest. Moved before the files below it are unlinked, so a reader that finds a file
// missing and then loads this word learns that it was pruned.
inline void store_oldest(RingWords& words, Sequence n) {
  internal::store(words.oldest.value, n, std::memory_order_release);
}
inline Sequence load_oldest(const RingWords& words) {
  return internal::load(words.oldest.value, std::memory_order_acquire);
}

struct JournalCondition {
  JournalState state = JournalState::kNone;
  int sys_errno = 0;
};

// One word, so that state and errno are never seen apart.
inline void store_journal_condition(RingWords& words, JournalCondition condition) {
  const Word packed = static_cast<Word>(condition.state) |
                      static_cast<Word>(static_cast<std::uint32_t>(condition.sys_errno)) << 32;
  internal::store(words.journal_state.value, packed, std::memory_order_release);
}
inline JournalCondition load_journal_condition(const RingWords& words) {
  const Word packed = internal::load(words.journal_state.value, std::memory_order_acquire);
  return {static_cast<JournalState>(packed & 0xffffffff), static_cast<int>(packed >> 32)};
}

// A plain clock: nothing else is ordered by it.
inline void store_heartbeat(RingWords& words, std::uint64_t monotonic_ns) {
  internal::store(words.heartbeat.value, monotonic_ns, std::memory_order_relaxed);
}
inline std::uint64_t load_heartbeat(const RingWords& words) {
  return internal::load(words.heartbeat.value, std::memory_order_relaxed);
}

// Stored after the last record; partner load_ring_state. A reader that sees kClosed tries its slot
// once more before it believes the end: the acquire makes every record published before the close
// visible.
inline void store_ring_state(RingWords& words, RingState state) {
  internal::store(words.state.value, static_cast<Word>(state), std::memory_order_release);
}
inline RingState load_ring_state(const RingWords& words) {
  return static_cast<RingState>(internal::load(words.state.value, std::memory_order_acquire));
}

// The doorbell is a 32-bit futex word in the low half of its field.
inline std::uint32_t* doorbell_address(RingWords& words) {
  return reinterpret_cast<std::uint32_t*>(&words.doorbell.value);
}
inline const std::uint32_t* doorbell_address(const RingWords& words) {
  return reinterpret_cast<const std::uint32_t*>(&words.doorbell.value);
}

// A futex word that changes before every wake.
//
//     sleeper                                   waker
//     S1 b = bell            acquire            P1 make the condition true
//     S2 look at the condition; true: go        P2 bell = bell + 1   release
//     S3 FUTEX_WAIT(bell, b)                    P3 FUTEX_WAKE(bell)
//
// If S2 missed P1, then S1 did not read P2's value (its acquire would have shown P1), so either P2
// comes before S3, which returns at once because bell != b, or S3 sleeps first and P3 wakes it. A
// bell that does not change (P2 missing), or P2 before P1, loses the wake.
inline std::uint32_t load_bell(const std::uint32_t* bell) {
  return std::atomic_ref<std::uint32_t>(*const_cast<std::uint32_t*>(bell))
      .load(std::memory_order_acquire);
}
inline void bump_bell(std::uint32_t* bell) {
  // Only one thread bumps a given bell, so a load and a store do.
  std::atomic_ref<std::uint32_t> ref(*bell);
  ref.store(ref.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// -------------------------------------------------------------------------------------------------
// Part 3: words that the threads of one publisher process share
// -------------------------------------------------------------------------------------------------

// A sequence or counter with one writer thread and any readers, in private memory.
class SingleWriterWord {
 public:
  // Release, partner load(): what the writer did before is visible to who sees the value.
  void store(Word value) { word_.store(value, std::memory_order_release); }
  Word load() const { return word_.load(std::memory_order_acquire); }

 private:
  alignas(kWordStride) std::atomic<Word> word_{0};
};

// How a thread that sleeps on an eventfd lets the publish path know, for the price of one plain
// load a record.
//
//     sleeper (service or file thread)          publishing thread
//     F1 flag = 1                               Q1 head = n  (W4)
//     F2 membarrier(PRIVATE_EXPEDITED)          Q2 compiler barrier
//     F3 look at head; moved: flag = 0, go on   Q3 if flag: flag = 0, write the eventfd
//     F4 sleep on the eventfd
//
// The membarrier makes the publishing thread execute a full barrier at some point between F1 and
// F3. If that point is before Q1, then Q3 sees F1 and writes the eventfd. If it is after Q1, then
// F3 sees the new head. Without F2, or with Q3 before Q1, a record can be published that nobody is
// told of.
class IdleFlag {
 public:
  // F1. The caller issues F2 next.
  void raise() { flag_.store(1, std::memory_order_relaxed); }
  // F3, head has moved: back to work.
  void lower() { flag_.store(0, std::memory_order_relaxed); }
  // Q2 and the look of Q3.
  bool is_raised() const {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // Q2
    return flag_.load(std::memory_order_relaxed) != 0;
  }
  // Q2 and Q3. True once per raise: the caller writes the eventfd.
  bool take() {
    if (!is_raised()) return false;
    flag_.store(0, std::memory_order_relaxed);
    return true;
  }

 private:
  alignas(kWordStride) std::atomic<std::uint32_t> flag_{0};
};

// Set once by any thread, seen by all: a request to stop, an end that is final.
class StickyFlag {
 public:
  // Release, partner is_set(): what the setter did before is visible to who sees it set.
  void set() { flag_.store(true, std::memory_order_release); }
  bool is_set() const { return flag_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> flag_{false};
};

// A count that any thread may raise and any may read; it orders nothing.
class Counter {
 public:
  void add(Word amount = 1) { count_.fetch_add(amount, std::memory_order_relaxed); }
  Word load() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Word> count_{0};
};

}  // namespace lapwing
