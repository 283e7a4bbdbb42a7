// The floors: the minimum cost on this machine, at this moment, of work that every bus has to do.
//
//   line    round trip of a value over one cache line that stays in both caches
//   walk    round trip over a new cache line each time, as many lines as the ring has slots, with
//           one 8-byte store each: the minimum for any ring
//   copy    one memcpy per record: slot by slot into as much memory as the ring has, or from as
//           much memory as the journal has into a buffer
//   stream  one way: only writes and reads complete lines; the writer does not overrun the
//           reader
//   wake    from just before FUTEX_WAKE to the return of FUTEX_WAIT in another process
//
// All but copy use two processes, on the two cores of `placement`, and the same kind of memory as a
// ring (shared pages of 4 KiB). Each call creates its own child and memory, and walks one lap
// before it measures.
//
// Thread safety: one thread. The calling thread stays pinned to placement.first.
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
// Per record of `record_bytes` in slots of `slot_bytes`. See record_source.h for the sources.
double copy_ns(Placement placement, std::uint64_t slots, std::size_t record_bytes,
               std::size_t slot_bytes, std::size_t records);
// The other direction: reads `slots` slots in order into one packed buffer of `buffer_records`.
double copy_out_ns(Placement placement, std::uint64_t slots, std::size_t record_bytes,
                   std::size_t slot_bytes, std::size_t buffer_records);
// Lines per second received by the reader.
double stream_per_second(Placement placement, std::uint64_t lines, std::size_t count);
// `work` is done by the waker while the other process sleeps.
double wake_ns(Placement placement, std::size_t wakes, const std::function<void()>& work = [] {});
// Spins for as long as a floor's waker waits, so that the other core becomes idle.
void let_sleep();

}  // namespace lapwing::bench
