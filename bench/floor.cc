#include "bench/floor.h"

#include <atomic>
#include <cstring>

#include "bench/lines.h"
#include "bench/ping_pong.h"
#include "bench/record_source.h"
#include "bench/samples.h"
#include "bench/two_processes.h"
#include "os/kernel.h"
#include "proto/ring_layout.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kLineWarmUp = 10'000;
constexpr std::uint64_t kWakeSpacingNs = 200'000;
constexpr std::uint64_t kSleepNsMax = 10'000'000'000;
constexpr std::size_t kCopyBlockRecords = 4096;  // timed together: a preemption affects one block

void await(const Line& line, std::uint64_t n) {
  spin_until([&] { return is_sent(line, n); });
}

// Round trips over two rings of `lines` lines each. With one line each, this is the floor `line`.
double ping_pong_ns(Placement placement, std::uint64_t lines, std::uint64_t warm_up,
                    std::size_t round_trips, Rhythm rhythm) {
  const Lines ping(lines);
  const Lines pong(lines);
  Child echo(placement.second, [&] {
    for (std::uint64_t n = 1; n <= warm_up + round_trips; ++n) {
      await(ping[n], n);
      send(pong[n], n);
    }
  });
  pin_to_core(placement.first);
  const double median = median_round_trip_ns(rhythm, warm_up, round_trips, [&](std::uint64_t n) {
    send(ping[n], n);
    await(pong[n], n);
  });
  echo.join();
  return median;
}

}  // namespace

double line_ns(Placement placement, std::size_t round_trips) {
  return ping_pong_ns(placement, 1, kLineWarmUp, round_trips, Rhythm::kOwn);
}

double walk_ns(Placement placement, std::uint64_t lines, std::size_t round_trips, Rhythm rhythm) {
  return ping_pong_ns(placement, lines, lines, round_trips, rhythm);
}

double copy_ns(Placement placement, std::uint64_t slots, std::size_t record_bytes,
               std::size_t slot_bytes, std::size_t records) {
  pin_to_core(placement.first);
  const SharedMemory memory(slots * slot_bytes);
  RecordSource source(record_bytes);
  Samples blocks(records / kCopyBlockRecords);
  std::uint64_t slot = 0;
  const auto copy_block = [&] {
    for (std::size_t i = 0; i < kCopyBlockRecords; ++i) {
      std::memcpy(memory.data() + slot * slot_bytes, source.next().data(), record_bytes);
      slot = (slot + 1) & (slots - 1);
    }
  };
  for (std::uint64_t warm = 0; warm < slots; warm += kCopyBlockRecords) copy_block();
  for (std::size_t block = 0; block < records / kCopyBlockRecords; ++block) {
    const std::uint64_t start = ticks();
    copy_block();
    // The compiler must not assume that the copy is unused.
    asm volatile("" ::"r"(memory.data()) : "memory");
    blocks.add(ticks() - start);
  }
  return blocks.percentile_ns(0.5) / kCopyBlockRecords;
}

double copy_out_ns(Placement placement, std::uint64_t slots, std::size_t record_bytes,
                   std::size_t slot_bytes, std::size_t buffer_records) {
  pin_to_core(placement.first);
  const SharedMemory memory(slots * slot_bytes);
  std::vector<std::byte> buffer(buffer_records * record_bytes);
  Samples buffers(slots / buffer_records);
  for (std::uint64_t slot = 0; slot + buffer_records <= slots; slot += buffer_records) {
    const std::byte* const from = memory.data() + slot * slot_bytes;
    const std::uint64_t start = ticks();
    for (std::size_t i = 0; i < buffer_records; ++i) {
      std::memcpy(buffer.data() + i * record_bytes, from + i * slot_bytes, record_bytes);
    }
    asm volatile("" ::"r"(buffer.data()) : "memory");
    buffers.add(ticks() - start);
  }
  return buffers.percentile_ns(0.5) / static_cast<double>(buffer_records);
}

double stream_per_second(Placement placement, std::uint64_t lines, std::size_t count) {
  const Lines ring(lines);
  const Headway headway(lines);
  const Shared<SharedWord> elapsed_ns;  // from the first to the last line
  const std::uint64_t total = lines + count;
  Child reader(placement.second, [&] {
    std::uint64_t start_ns = 0;
    std::uint64_t damaged = 0;
    for (std::uint64_t n = 1; n <= total; ++n) {
      const Line& line = ring[n];
      await(line, n);
      for (int i = 1; i < Line::kWords; ++i) {
        damaged |= line.words[i].load(std::memory_order_relaxed) ^ n;
      }
      headway.took(n);
      if (n == lines) start_ns = monotonic_ns();
    }
    if (damaged != 0) fail("the stream floor lost a line");
    elapsed_ns->value.store(monotonic_ns() - start_ns, std::memory_order_relaxed);
  });
  pin_to_core(placement.first);
  for (std::uint64_t n = 1; n <= total; ++n) {
    headway.await(n);
    Line& line = ring[n];
    for (int i = 1; i < Line::kWords; ++i) line.words[i].store(n, std::memory_order_relaxed);
    send(line, n);
  }
  reader.join();
  return static_cast<double>(count) * 1e9 /
         static_cast<double>(elapsed_ns->value.load(std::memory_order_relaxed));
}

void let_sleep() {
  const std::uint64_t due_ns = monotonic_ns() + kWakeSpacingNs;
  spin_until([&] { return monotonic_ns() >= due_ns; });
}

double wake_ns(Placement placement, std::size_t wakes, const std::function<void()>& work) {
  struct Bed {
    alignas(kWordStride) std::uint32_t futex_word = 0;
    SharedWord bedtimes;  // number of sleeps
    SharedWord calls;     // requested wake-ups; a sleep that ends without one resumes
    SharedWord woken_ns;
    SharedWord wakes;
  };
  const Shared<Bed> bed;
  Child sleeper(placement.second, [&] {
    for (std::uint64_t n = 1; n <= wakes; ++n) {
      bed->bedtimes.value.store(n, std::memory_order_release);
      std::uint64_t woken_ns = 0;
      do {
        futex_wait(&bed->futex_word, 0, kSleepNsMax);
        woken_ns = monotonic_ns();
      } while (bed->calls.value.load(std::memory_order_acquire) < n);
      bed->woken_ns.value.store(woken_ns, std::memory_order_relaxed);
      bed->wakes.value.store(n, std::memory_order_release);
    }
  });
  pin_to_core(placement.first);
  std::vector<double> durations;
  for (std::uint64_t n = 1; n <= wakes; ++n) {
    spin_until([&] { return bed->bedtimes.value.load(std::memory_order_acquire) == n; });
    work();
    let_sleep();
    bed->calls.value.store(n, std::memory_order_release);
    std::uint64_t start_ns = 0;
    bool woken = false;
    const auto awake = [&] { return bed->wakes.value.load(std::memory_order_acquire) == n; };
    spin_until([&] {  // none woken: the sleeper is not asleep yet, or has just woken up
      start_ns = monotonic_ns();
      woken = futex_wake_all(&bed->futex_word) == 1;
      return woken || awake();
    });
    spin_until(awake);
    const std::uint64_t woken_ns = bed->woken_ns.value.load(std::memory_order_relaxed);
    if (woken) durations.push_back(static_cast<double>(woken_ns - start_ns));
  }
  sleeper.join();
  return median_of(durations);
}

}  // namespace lapwing::bench
