// A subscriber's next record, and how it is read from the ring. Taking a record touches only the
// first cache line, the read path. The path is open between calls, and closed during a call that
// does more.
//
// Invariants
//  1. limit <= attention <= due: a record at or beyond `due` needs a step of the machine first.
//  2. While the path is closed, the ledger counts every record below `next` that was taken.
//
// Thread safety: one thread; see subscriber_wait.h for the exception.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "bus/ring_reader.h"
#include "lapwing/detail/read_path.h"
#include "lapwing/sequence.h"
#include "subscribers/age_meter.h"
#include "subscribers/delivery_ledger.h"
#include "subscribers/distance.h"

namespace lapwing {

// The table of the phases is in subscriber_machine.h.
enum class Phase : std::uint32_t {
  kSeeking,
  kFlushing,
  kSnapshot,
  kCatchUp,
  kLive,
  kEnded,
  kForked,  // in a forked child
};

struct ReadCursor : detail::ReadPath {
  Phase phase = Phase::kSeeking;
  const RingReader* ring = nullptr;                // the attachment's; null if it has none
  Sequence attention = 0;                          // a step is needed before each record from here
                                                   // on
  Sequence measured_from = AgeMeter::kNothingDue;  // the path leaves records from here on to a call
  std::uint32_t behind_records = 0;                // from the options
  DeliveryLedger ledger;
  Sequence due = 0;        // from this sequence on, a step first posts an event or does the upkeep
  Sequence seen_head = 0;  // the ring's; see RingReader::read_run
  Distance distance;       // for batches

  // Sets the ring of another attachment, or none. Without a ring, the path stays closed, although
  // its pointers keep their values.
  void set_ring(const RingReader* reader) {
    ring = reader;
    if (ring == nullptr) return;
    slots = ring->slots();
    mask = ring->capacity() - 1;
    slot_shift = ring->slot_shift();
    // A reader that is a whole ring behind is lapped, so larger limits have no effect.
    live_within =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(behind_records, ring->capacity() - 1));
  }

  void open(std::uint32_t looks_first) {
    counted = next;
    looks = looks_first;
    // A record below the ring's first sequence was never in a slot, and counts as lapped.
    limit = phase == Phase::kLive && next >= ring->first() ? std::min(attention, measured_from) : 0;
  }
  // True if the path is open, or would be if the next record were not measured: the record is in
  // the ring, or does not exist yet.
  bool is_open() const { return limit != 0 && next < attention; }
  void close() {
    limit = 0;
    const Sequence first = std::exchange(counted, kNoSequence);
    if (first != kNoSequence && first < next) ledger.take(first, next - first);
  }
  // True if the next record may be taken from the ring without a step.
  bool is_live() const { return phase == Phase::kLive && next < attention; }
  // Requires is_live(). Takes the next record if it exists.
  [[gnu::always_inline]] RingRead take(std::byte* out) {
    const RingRead outcome = ring->try_read(next, out).outcome;
    if (outcome == RingRead::kRecord) [[likely]] {
      ledger.take(next++, 1);
    }
    return outcome;
  }

  // True if records are delivered in this phase.
  bool reads() const { return phase == Phase::kCatchUp || phase == Phase::kLive; }
  // The number of records that may be read into `out` before record `end`, which is above `next`.
  std::uint64_t room_in(std::span<std::byte> out, Sequence end) const {
    return std::min<std::uint64_t>(out.size() / record_bytes, end - next);
  }
  // Requires kLive. Copies records below `end` from the ring. They are not counted yet.
  RingRun read_run(std::span<std::byte> out, Sequence end) {
    const RingRun run = ring->read_run(next, out.data(), room_in(out, end), seen_head);
    distance.on_read(run.records, run.end.outcome == RingRead::kEmpty);
    return run;
  }
  // Counts the next `records` records as taken.
  void count(std::uint64_t records) {
    if (phase != Phase::kCatchUp) return count_live(records);
    ledger.take_caught_up(next, records);
    next += records;
  }
  // Like count(), but not in kCatchUp.
  void count_live(std::uint64_t records) {
    ledger.take(next, records);
    next += records;
  }
};

}  // namespace lapwing
