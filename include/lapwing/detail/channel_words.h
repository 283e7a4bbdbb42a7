// The words of a channel: frames, positions, parking. Each side writes its own memory file and
// reads the other's.
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
//
// C2 may be done as early as behind the C3 before, for the end that the frame will have, where two
// things hold. C0 says that all before q is released: then what stands at q is released, too, or the
// stamp of the oldest frame, but no payload that the consumer still reads. And nobody writes there
// between C2 and C3, be it into a claim.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/detail/channel_layout.h"

namespace lapwing {

// The words of a frame. `frame` is where its MessageHead stands.
inline Word load_frame_stamp(const std::byte* frame) {
  // D1, partner C3. Weaker, and D2 may read what was there before the frame.
  return detail::load(*reinterpret_cast<const Word*>(frame), std::memory_order_acquire);
}
inline void store_frame_stamp(std::byte* frame, ChannelPosition p) {
  // C3, partner D1. Weaker, and D1 may see the stamp before frame and cleared successor are there.
  detail::store(*reinterpret_cast<Word*>(frame), frame_stamp(p), std::memory_order_release);
}
// C2. The stamp is the producer's own, so it reads what it wrote last; C3 orders the clearing.
// Without it a payload can pass for a frame. Clearing always would cost a line per message.
inline void clear_false_stamp(std::byte* frame, ChannelPosition q) {
  Word& stamp = *reinterpret_cast<Word*>(frame);
  if (detail::load(stamp, std::memory_order_relaxed) == frame_stamp(q)) {
    detail::store(stamp, 0, std::memory_order_relaxed);
  }
}

// C1 of a frame of one line: its payload, and what else stands behind size and type. `line` is
// the frame as it was put together elsewhere.
inline void store_short_payload(std::byte* frame, const std::byte* line) {
  for_each_word(kFrameAlign / kWordPairBytes - 1, [=](std::size_t i) {
    const std::size_t behind_head = sizeof(MessageHead) + kWordPairBytes * i;
    copy_word_pair(frame + behind_head, line + behind_head);
  });
}
static_assert(sizeof(MessageHead) == kWordPairBytes);

struct FrameSize {
  std::uint32_t size;
  std::uint32_t type;
};
// Part of C1 and D2: one word, so that a hostile producer cannot change one under the other.
inline void store_frame_size(std::byte* frame, FrameSize fields) {
  const Word packed = fields.size | static_cast<Word>(fields.type) << 32;
  detail::store(reinterpret_cast<Word*>(frame)[1], packed, std::memory_order_relaxed);
}
inline FrameSize load_frame_size(const std::byte* frame) {
  const Word packed =
      detail::load(reinterpret_cast<const Word*>(frame)[1], std::memory_order_relaxed);
  return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32)};
}

// D3, partner C0. Weaker, and the producer may write over what the consumer still reads.
inline void store_received(ChannelWords& own, ChannelPosition position, std::uint64_t messages) {
  detail::store(own.received.messages, messages, std::memory_order_relaxed);
  detail::store(own.received.position, position, std::memory_order_release);
}
inline ChannelPosition load_received(const ChannelWords& peer) {  // C0, partner D3
  return detail::load(peer.received.position, std::memory_order_acquire);
}
// For people: no one relies on it, so nothing is ordered by it.
inline void store_sent(ChannelWords& own, ChannelPosition position, std::uint64_t messages) {
  detail::store(own.sent.messages, messages, std::memory_order_relaxed);
  detail::store(own.sent.position, position, std::memory_order_relaxed);
}

// Partner load_channel_state. Whoever sees it closed sees all that was committed before.
inline void store_channel_state(ChannelWords& own, ChannelState state) {
  detail::store(own.state.value, static_cast<Word>(state), std::memory_order_release);
}
inline ChannelState load_channel_state(const ChannelWords& peer) {
  return static_cast<ChannelState>(detail::load(peer.state.value, std::memory_order_acquire));
}

// A word on page 1 whose owner counts and whose reader only looks.
inline void store_tally(PaddedWord& own, Word value) {
  detail::store(own.value, value, std::memory_order_relaxed);
}
inline Word load_tally(const Word& peer) {
  return detail::load(peer, std::memory_order_relaxed);
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
