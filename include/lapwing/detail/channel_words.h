// The words of a channel: frames, positions, parking. Each side writes its own memory file and
// reads the other's.
//
// A frame at position p, with its successor at q:
//
//     producer                                  consumer
//     C0 room  = received     acquire           D1 head of p   acquire     must have p's lap
//     C1 payload, size if it is long            D2 size, payload
//     C2 head of q = the next lap relaxed       D3 received = q  release
//     C3 head of p            release
//
// - A frame is whole: D1 reads C3, so C1 happens before D2. Its type, kind and short size are in
//   the word that D1 read.
// - It is not an older frame: a head of the previous lap contains another lap number.
// - It is not overwritten: C0 reads D3, so D2 happens before the C1 of the next lap.
//
// Padding is a frame without a payload. The head of its successor is stored before its own. In a
// batch, all heads except the first are stored before the first. C3 of the first head then makes
// all of them visible at once.
//
// C2 is necessary because an old payload may contain a word with q's lap at the position of q's
// head. C2 stores only if that word has q's lap. It checks only if a long message was claimed at
// most one lap before q, even if that claim was aborted or committed with fewer bytes.
//
// Otherwise the first word of q's line is a head of the previous lap. A line begins with a head in
// each lap in which no long message covers it and no padding skips it. Padding ends where a long
// message begins. So C2 checks every word that is older than one lap and whose 22 lap bits could be
// the same. Memory that was never written has lap 0, and the first lap is 1.
//
// The cost of C2 is its load: it fetches a line that the consumer has read, right before the line
// is written.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/detail/channel_layout.h"

namespace lapwing {

// The frame heads of one channel.
class FrameHeads {
 public:
  FrameHeads() = default;
  explicit constexpr FrameHeads(std::uint64_t capacity)
      : capacity_(capacity),
        shift_(kHeadLapShift - static_cast<unsigned>(std::countr_zero(capacity))) {}

  // Returns the head of the frame at p. `short_bytes` is 0 unless the kind is a short one.
  [[nodiscard]] constexpr Word at(ChannelPosition p, FrameKind kind, std::uint32_t short_bytes,
                                  std::uint32_t type) const {
    return lap_of(p) | static_cast<Word>(kind) << kHeadKindShift |
           static_cast<Word>(short_bytes) << kHeadSizeShift | type;
  }
  // Returns whether `head` is the head of a frame at p.
  [[nodiscard]] constexpr bool is_at(Word head, ChannelPosition p) const {
    return (head ^ shifted(p)) >> kHeadLapShift == 0;
  }
  // Returns the word that C2 stores at q, which has the next lap. The previous lap would be wrong,
  // because the consumer may wait for it there. A batch that fills the ring ends at the position of
  // its first head, which is not stored yet.
  [[nodiscard]] constexpr Word none_at(ChannelPosition q) const { return lap_of(q + capacity_); }

 private:
  // Returns p / capacity + 1 in the lap bits, and the offset in the bits below them.
  [[nodiscard]] constexpr Word shifted(ChannelPosition p) const {
    return (p + capacity_) << shift_;
  }
  [[nodiscard]] constexpr Word lap_of(ChannelPosition p) const {
    return shifted(p) >> kHeadLapShift << kHeadLapShift;
  }

  std::uint64_t capacity_ = 0;
  unsigned shift_ = 0;
};
static_assert(std::countr_zero(kChannelCapacityMax) <= int{kHeadLapShift});

constexpr FrameKind kind_of(Word head) {
  return static_cast<FrameKind>(head >> kHeadKindShift & kHeadKindMask);
}
constexpr std::uint32_t short_bytes_of(Word head) {
  return static_cast<std::uint32_t>(head >> kHeadSizeShift & kHeadSizeMask);
}
constexpr std::uint32_t type_of(Word head) {
  return static_cast<std::uint32_t>(head);
}

// The words of the frame that begins at `frame`.
inline Word load_frame_head(const std::byte* frame) {
  // D1; pairs with C3. With a weaker order, D2 may read bytes from before the frame.
  return detail::load(*reinterpret_cast<const Word*>(frame), std::memory_order_acquire);
}
inline void store_frame_head(std::byte* frame, Word head) {
  // C3; pairs with D1. With a weaker order, D1 may see the head before C1 and C2.
  detail::store(*reinterpret_cast<Word*>(frame), head, std::memory_order_release);
}
// C2. The producer owns the word, so it reads its own last store. C3 orders the new store.
inline void clear_false_head(std::byte* frame, const FrameHeads& heads, ChannelPosition q) {
  Word& head = *reinterpret_cast<Word*>(frame);
  if (heads.is_at(detail::load(head, std::memory_order_relaxed), q)) {
    detail::store(head, heads.none_at(q), std::memory_order_relaxed);
  }
}

// C1 of a short message: all words beginning with the third, and for FrameKind::kShortPacked also
// the second. `line` is the frame as assembled in private memory.
inline void store_short_payload(std::byte* frame, const std::byte* line, FrameKind kind) {
  if (kind == FrameKind::kShortPacked) {
    const Word second =
        detail::load(reinterpret_cast<const Word*>(line)[1], std::memory_order_relaxed);
    detail::store(reinterpret_cast<Word*>(frame)[1], second, std::memory_order_relaxed);
  }
  for_each_word(kFrameAlign / kWordPairBytes - 1, [=](std::size_t i) {
    const std::size_t at = kWordPairBytes * (i + 1);
    copy_word_pair(frame + at, line + at);
  });
}

// The size of a long message: part of C1 and D2.
inline void store_long_bytes(std::byte* frame, std::uint32_t bytes) {
  detail::store(reinterpret_cast<Word*>(frame)[1], bytes, std::memory_order_relaxed);
}
inline Word load_long_bytes(const std::byte* frame) {
  return detail::load(reinterpret_cast<const Word*>(frame)[1], std::memory_order_relaxed);
}

// D3; pairs with C0. With a weaker order, the producer may overwrite bytes still being read.
inline void store_received(ChannelWords& own, ChannelPosition position, std::uint64_t messages) {
  detail::store(own.received.messages, messages, std::memory_order_relaxed);
  detail::store(own.received.position, position, std::memory_order_release);
}
inline ChannelPosition load_received(const ChannelWords& peer) {  // C0; pairs with D3
  return detail::load(peer.received.position, std::memory_order_acquire);
}
// Only for display, so it orders nothing.
inline void store_sent(ChannelWords& own, ChannelPosition position, std::uint64_t messages) {
  detail::store(own.sent.messages, messages, std::memory_order_relaxed);
  detail::store(own.sent.position, position, std::memory_order_relaxed);
}

// Pairs with load_channel_state. A peer that sees kClosed also sees everything committed before it.
inline void store_channel_state(ChannelWords& own, ChannelState state) {
  detail::store(own.state.value, static_cast<Word>(state), std::memory_order_release);
}
inline ChannelState load_channel_state(const ChannelWords& peer) {
  return static_cast<ChannelState>(detail::load(peer.state.value, std::memory_order_acquire));
}

// A counter on page 1. Only its owner writes it.
inline void store_tally(PaddedWord& own, Word value) {
  detail::store(own.value, value, std::memory_order_relaxed);
}
inline Word load_tally(const Word& peer) {
  return detail::load(peer, std::memory_order_relaxed);
}

// Parking. A sleeper waits for a packet on the socket. A packet stays in the socket until it is
// taken, so the only danger is that no packet is sent:
//
//     sleeper                                   waker
//     T1 own ticket = odd, never used           N1 the stamp (C3), received (D3), or `taken`
//     T2 barrier                                N2 barrier
//     T3 check again; found: ticket = even      N3 peer's ticket is odd and not the last answered:
//     T4 poll the socket                           note it as answered, send the packet
//
// If T3 missed N1, the barriers order T1 before N3. N3 then sees the ticket and sends a packet, one
// for each ticket. The packet may be late, for something that was taken long ago. Then T3 finds
// nothing, and the next sleep needs a new ticket. So packets are taken after T4 and before the next
// T1, never between T1 and T4. T3 checks everything that the side waits for.
//
// If both processes are registered for it, T2 is membarrier(GLOBAL_EXPEDITED), which makes the
// waker execute a barrier at its current instruction, and N2 is only a compiler barrier. Otherwise
// both are fences.
enum class ChannelBarrier : std::uint32_t { kFences = 1, kMembarrier = 2 };

inline void store_ticket(ChannelWords& own, Word ticket) {  // T1
  detail::store(own.ticket.value, ticket, std::memory_order_relaxed);
}
inline Word load_ticket(const ChannelWords& peer) {  // N3
  return detail::load(peer.ticket.value, std::memory_order_relaxed);
}
constexpr bool ticket_sleeps(Word ticket) {
  return ticket % 2 != 0;
}

inline void full_fence() {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"  // it does not model fences; no race depends on this one
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
