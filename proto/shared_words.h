// Every atomic access of Lapwing, with its partner and what breaks if it is weakened.
//
// Part 1 is the slot protocol: how one publisher hands a record to any number of readers that it
// does not know; part 2 the words on page 1 of the ring file; part 3 those that threads of one
// publisher process share; part 4 the channel: frames, positions, parking. Nothing else in the
// library touches an atomic: tests/house_rules checks that. tests/model runs all parts and their
// wrong variants under a C11 memory-model checker.
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

#include "lapwing/detail/channel_layout.h"
#include "lapwing/sequence.h"
#include "proto/ring_layout.h"
#include "proto/slot_stamp.h"

namespace lapwing {
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

enum class SlotRead {
  kRecord,  // the copy is exactly record n
  kNotYet,  // record n is not in the slot yet
  kNewer,   // the slot holds, or is being given, a later record
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

// A look that only asks whether to look: whoever is told yes reads by load_slot, and its R1 orders.
inline bool slot_is_ready(const std::byte* slot, Sequence n) {
  const Word& stamp = *reinterpret_cast<const Word*>(slot);
  return internal::load(stamp, std::memory_order_relaxed) >= ready_stamp(n);
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

// The protocol, given the moves of the words between the stamps. Of DBN's MboMsg and Mbp1Msg the
// compiler sees the size, and the moves become straight-line code (docs/adr/0005-slot-moves.md).
template <typename Moves>
struct SlotProtocol {
  // Writes record n into `slot`. Reads exactly `record_bytes` bytes of `record`, at any alignment.
  static void store_slot(std::byte* slot, Sequence n, const std::byte* record,
                         std::size_t record_bytes) {
    if (!store_inline(slot, n, record, record_bytes)) store_any(slot, n, record, record_bytes);
  }
  // The same where no call is needed, so that the caller keeps no registers; else returns false.
  [[gnu::always_inline]] static bool store_inline(std::byte* slot, Sequence n,
                                                  const std::byte* record,
                                                  std::size_t record_bytes) {
    if (record_bytes == 56) return store(slot, n, record, 56), true;
    if (record_bytes == 80) return store(slot, n, record, 80), true;
    return false;
  }

  // Copies record n out of `slot` into `record` (`record_bytes` bytes). One pass, wait-free
  // whatever the writer does. `record` holds garbage unless the outcome is kRecord.
  [[gnu::always_inline]] static SlotReadResult load_slot(const std::byte* slot, Sequence n,
                                                         std::byte* record,
                                                         std::size_t record_bytes) {
    if (record_bytes == 56) return load(slot, n, record, 56);
    if (record_bytes == 80) return load(slot, n, record, 80);
    return load_any(slot, n, record, record_bytes);
  }

 private:
  // A compiler that knows the caller's buffer would warn of overruns where records are larger.
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

// -------------------------------------------------------------------------------------------------
// Part 2: page 1 of the ring file. The publisher's process writes, everyone reads.

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

// -------------------------------------------------------------------------------------------------
// Part 4: the channel. Each side writes its own memory file and reads the other's.
//
// A frame at position p, its successor at q:
//
//     producer                                  consumer
//     C0 room  = received     acquire           D1 stamp of p  acquire     must be p+1
//     C1 payload, size, type                    D2 size, type, payload
//     C2 stamp of q = 0       relaxed, if q+1   D3 received = q  release
//     C3 stamp of p = p+1     release
//
// A frame is whole: D1 reads C3, so C1 happens before D2. It is not older: the stamp of another lap
// is another number, and a payload that happens to hold q+1 where q's stamp will be is cleared (C2)
// before anyone is led there (C3). It is not overwritten: C0 reads D3, so D2 happens before the C1
// of the next lap. Padding is a frame without payload whose successor is stamped first, and so are
// the frames of a batch but the first: C3 of the first makes all of them visible at once.

// The words of a frame. `frame` is where its MessageHead stands.
inline Word load_frame_stamp(const std::byte* frame) {
  // D1, partner C3. Weaker, and D2 may read what was there before the frame.
  return internal::load(*reinterpret_cast<const Word*>(frame), std::memory_order_acquire);
}
inline void store_frame_stamp(std::byte* frame, ChannelPosition p) {
  // C3, partner D1. Weaker, and D1 may see the stamp before frame and cleared successor are there.
  internal::store(*reinterpret_cast<Word*>(frame), frame_stamp(p), std::memory_order_release);
}
// C2. The stamp is the producer's own, so it reads what it wrote last; C3 orders the clearing.
// Without it a payload can pass for a frame. Clearing always would cost a line per message.
inline void clear_false_stamp(std::byte* frame, ChannelPosition q) {
  Word& stamp = *reinterpret_cast<Word*>(frame);
  if (internal::load(stamp, std::memory_order_relaxed) == frame_stamp(q)) {
    internal::store(stamp, 0, std::memory_order_relaxed);
  }
}

struct FrameSize {
  std::uint32_t size;
  std::uint32_t type;
};
// Part of C1 and D2: one word, so that a hostile producer cannot change one under the other.
inline void store_frame_size(std::byte* frame, FrameSize fields) {
  const Word packed = fields.size | static_cast<Word>(fields.type) << 32;
  internal::store(reinterpret_cast<Word*>(frame)[1], packed, std::memory_order_relaxed);
}
inline FrameSize load_frame_size(const std::byte* frame) {
  const Word packed =
      internal::load(reinterpret_cast<const Word*>(frame)[1], std::memory_order_relaxed);
  return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32)};
}

// D3, partner C0. Weaker, and the producer may write over what the consumer still reads.
inline void store_received(ChannelWords& own, ChannelPosition position, std::uint64_t messages) {
  internal::store(own.received.messages, messages, std::memory_order_relaxed);
  internal::store(own.received.position, position, std::memory_order_release);
}
inline ChannelPosition load_received(const ChannelWords& peer) {  // C0, partner D3
  return internal::load(peer.received.position, std::memory_order_acquire);
}
// For people: no one relies on it, so nothing is ordered by it.
inline void store_sent(ChannelWords& own, ChannelPosition position, std::uint64_t messages) {
  internal::store(own.sent.messages, messages, std::memory_order_relaxed);
  internal::store(own.sent.position, position, std::memory_order_relaxed);
}

// Partner load_channel_state. Whoever sees it closed sees all that was committed before.
inline void store_channel_state(ChannelWords& own, ChannelState state) {
  internal::store(own.state.value, static_cast<Word>(state), std::memory_order_release);
}
inline ChannelState load_channel_state(const ChannelWords& peer) {
  return static_cast<ChannelState>(internal::load(peer.state.value, std::memory_order_acquire));
}

// A word on page 1 whose owner counts and whose reader only looks.
inline void store_tally(PaddedWord& own, Word value) {
  internal::store(own.value, value, std::memory_order_relaxed);
}
inline Word load_tally(const Word& peer) {
  return internal::load(peer, std::memory_order_relaxed);
}

// Parking. A sleeper waits on the socket for a packet, which stays there until it is taken, so what
// must not happen is that none is sent:
//
//     sleeper                                   waker
//     T1 own ticket = odd, never used           N1 the stamp (C3), received (D3), or `taken`
//     T2 barrier                                N2 barrier
//     T3 look again; it came: ticket = even     N3 peer's ticket is odd and not the last answered:
//     T4 poll the socket                           note it as answered, send the packet
//
// If T3 missed N1, the barriers order T1 before N3: N3 sees the ticket and sends, once a ticket,
// and perhaps late, for what was taken long ago. Then T3 looks in vain, and the next sleep needs a
// new ticket. So packets are taken after T4 and before T1, never between; T3 looks at all there is.
//
// Where both processes have registered for it, T2 is membarrier(GLOBAL_EXPEDITED), which makes the
// waker execute a barrier wherever it is, and N2 holds only the compiler; else both are fences.
enum class ChannelBarrier : std::uint32_t { kFences = 1, kMembarrier = 2 };

inline void store_ticket(ChannelWords& own, Word ticket) {  // T1
  internal::store(own.ticket.value, ticket, std::memory_order_relaxed);
}
inline Word load_ticket(const ChannelWords& peer) {  // N3
  return internal::load(peer.ticket.value, std::memory_order_relaxed);
}
constexpr bool ticket_sleeps(Word ticket) {
  return ticket % 2 != 0;
}

inline void full_fence() {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"  // it does not model fences; no data race hangs on this one
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}
inline void waker_barrier(ChannelBarrier barrier) {  // N2
  if (barrier == ChannelBarrier::kFences) return full_fence();
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace lapwing
