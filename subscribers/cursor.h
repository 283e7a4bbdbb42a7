// Where a subscriber stands, and all that it touches for a record that it takes from the ring: one
// cache line.
//
// Thread safety: one thread; call_wait.h has the exception.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bus/ring_reader.h"
#include "lapwing/sequence.h"
#include "subscribers/delivery_ledger.h"

namespace lapwing {

// Of the state machine in follower.h, which has the table.
enum class Phase : std::uint32_t { kSeeking, kFlushing, kSnapshot, kCatchUp, kLive, kEnded };

struct alignas(64) Cursor {
  Phase phase = Phase::kSeeking;
  std::uint32_t record_bytes = 0;
  const RingReader* ring = nullptr;  // the attachment's; null if it has none
  Sequence next = 1;                 // to be delivered
  Sequence attention = 0;            // from here on a turn is needed before the next record
  DeliveryLedger ledger;

  // The next record may be taken from the ring without a turn.
  bool is_live() const { return phase == Phase::kLive && next < attention; }
  // Where it is_live(): takes it, if it is there.
  [[gnu::always_inline]] RingRead take(std::byte* out) {
    const RingRead outcome = ring->try_read(next, out).outcome;
    if (outcome == RingRead::kRecord) [[likely]] {
      ledger.take(next++, 1);
    }
    return outcome;
  }
};
static_assert(offsetof(Cursor, ledger) + DeliveryLedger::kHotBytes == alignof(Cursor));

}  // namespace lapwing
