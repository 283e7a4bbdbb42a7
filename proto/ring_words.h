// The words on page 1 of the ring file. The publisher's process writes them; all processes may read
// them.
#pragma once

#include <cstdint>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/detail/slot_words.h"
#include "lapwing/journal_state.h"
#include "lapwing/sequence.h"
#include "proto/ring_layout.h"

namespace lapwing {

// W4 is in lapwing/detail/slot_words.h.
inline void store_head(RingWords& words, Sequence n) {
  store_head(words.head.value, n);
}
inline Sequence load_head(const RingWords& words) {
  return detail::load(words.head.value, std::memory_order_acquire);
}

// Pairs with load_archived. A reader that loads it finds every sequence up to it in the journal's
// files. For the publishing thread, it means that the file thread no longer reads those slots, so
// they may be overwritten. With a weaker order, the file thread might write a record of the next
// lap to disk instead.
inline void store_archived(RingWords& words, Sequence n) {
  detail::store(words.archived.value, n, std::memory_order_release);
}
inline Sequence load_archived(const RingWords& words) {
  return detail::load(words.archived.value, std::memory_order_acquire);
}

// Pairs with load_durable. Release, so that a thread that loads it and then reads the files finds
// their sums.
inline void store_durable(RingWords& words, Sequence n) {
  detail::store(words.durable.value, n, std::memory_order_release);
}
inline Sequence load_durable(const RingWords& words) {
  return detail::load(words.durable.value, std::memory_order_acquire);
}

// Pairs with load_oldest. Stored before the files below it are unlinked, so a reader that finds a
// file missing and then loads this word detects that the file was pruned.
inline void store_oldest(RingWords& words, Sequence n) {
  detail::store(words.oldest.value, n, std::memory_order_release);
}
inline Sequence load_oldest(const RingWords& words) {
  return detail::load(words.oldest.value, std::memory_order_acquire);
}

// State and errno are in one word, so that a reader always sees them together.
inline void store_journal_condition(RingWords& words, JournalCondition condition) {
  const Word packed = static_cast<Word>(condition.state) |
                      static_cast<Word>(static_cast<std::uint32_t>(condition.sys_errno)) << 32;
  detail::store(words.journal_state.value, packed, std::memory_order_release);
}
inline JournalCondition load_journal_condition(const RingWords& words) {
  const Word packed = detail::load(words.journal_state.value, std::memory_order_acquire);
  return {static_cast<JournalState>(packed & 0xffffffff), static_cast<int>(packed >> 32)};
}

// A plain clock value that orders nothing else.
inline void store_heartbeat(RingWords& words, std::uint64_t monotonic_ns) {
  detail::store(words.heartbeat.value, monotonic_ns, std::memory_order_relaxed);
}
inline std::uint64_t load_heartbeat(const RingWords& words) {
  return detail::load(words.heartbeat.value, std::memory_order_relaxed);
}

// Pairs with load_ring_state. Stored after the last record. A reader that sees kClosed polls its
// slot once more before it reports the end: the acquire makes every record published before the
// close visible.
inline void store_ring_state(RingWords& words, RingState state) {
  detail::store(words.state.value, static_cast<Word>(state), std::memory_order_release);
}
inline RingState load_ring_state(const RingWords& words) {
  return static_cast<RingState>(detail::load(words.state.value, std::memory_order_acquire));
}

// The doorbell is a 32-bit futex word in the low half of its field.
inline std::uint32_t* doorbell_address(RingWords& words) {
  return reinterpret_cast<std::uint32_t*>(&words.doorbell.value);
}
inline const std::uint32_t* doorbell_address(const RingWords& words) {
  return reinterpret_cast<const std::uint32_t*>(&words.doorbell.value);
}

// A futex word that changes before every wake-up.
//
//     sleeper                                   waker
//     S1 b = bell            acquire            P1 make the condition true
//     S2 look at the condition; true: go        P2 bell = bell + 1   release
//     S3 FUTEX_WAIT(bell, b)                    P3 FUTEX_WAKE(bell)
//
// If S2 missed P1, then S1 did not read P2's value, because its acquire would have made P1 visible.
// So either P2 is before S3, which then returns at once because bell != b, or S3 sleeps first and
// P3 wakes it. Without P2, or with P2 before P1, the wake-up is lost.
inline std::uint32_t load_bell(const std::uint32_t* bell) {
  return std::atomic_ref<std::uint32_t>(*const_cast<std::uint32_t*>(bell))
      .load(std::memory_order_acquire);
}
inline void bump_bell(std::uint32_t* bell) {
  // Only one thread bumps a given bell, so a load and a store are enough.
  std::atomic_ref<std::uint32_t> ref(*bell);
  ref.store(ref.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}
// The same for a bell that several threads bump.
inline void bump_shared_bell(std::uint32_t* bell) {
  std::atomic_ref<std::uint32_t>(*bell).fetch_add(1, std::memory_order_release);
}

}  // namespace lapwing
