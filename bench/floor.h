// The floors: what this machine charges, at this moment, for what any bus has to do.
//
//   line    round trip of a value over one cache line that both sides keep
//   walk    round trip that takes a fresh cache line each time, as many lines as the ring has
//           slots, one 8-byte store each: what any ring must pay
//   copy    the same records, one memcpy each: into as much memory as the ring has, slot by slot;
//           or out of as much memory as the journal has, into a buffer
//   stream  one way: whole lines written one after another and read, nothing else; the writer
//           only keeps from overrunning the reader
//   wake    from before FUTEX_WAKE to the return of FUTEX_WAIT in another process
//
// All but copy run between two processes, on the two cores of `placement`, over memory of the same
// kind as a ring (shared pages of 4 KiB). Each call makes its own child and its own memory and
// walks one lap before it measures.
//
// Thread safety: one thread; the calling thread is left pinned to placement.first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "bench/machine.h"
#include "bench/ping_pong.h"

namespace lapwing::bench {

// Medians, in nanoseconds.
double line_ns(Placement placement, std::size_t round_trips);
double walk_ns(Placement placement, std::uint64_t lines, std::size_t round_trips,
               Rhythm rhythm = Rhythm::kOwn);
// For each record of `record_bytes` in slots of `slot_bytes`; sources as in record_source.h.
double copy_ns(Placement placement, std::uint64_t slots, std::size_t record_bytes,
               std::size_t slot_bytes, std::size_t records);
// The other direction: `slots` slots, read in order into one packed buffer of `buffer_records`.
double copy_out_ns(Placement placement, std::uint64_t slots, std::size_t record_bytes,
                   std::size_t slot_bytes, std::size_t buffer_records);
// Lines a second that the reader has got.
double stream_per_second(Placement placement, std::uint64_t lines, std::size_t count);
// `work` is what the waker does, besides waiting, while the other one sleeps.
double wake_ns(Placement placement, std::size_t wakes, const std::function<void()>& work = [] {});
// Spins for as long as a floor's waker waits: long enough for the other core to go idle.
void let_sleep();

}  // namespace lapwing::bench
