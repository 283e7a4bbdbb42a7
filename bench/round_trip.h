// Round trips over two bare rings and over two buses, one record in each direction, with both
// readers busy. With kCounted, `looks` counts this side's polls; otherwise it is not used. The
// functions are static, and the counted ones are compiled separately (looks.cc), so that they do
// not change the code of the timed ones.
//
// Thread safety: one thread, which stays pinned to placement.first. Each call creates its own child
// and memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>

#include "bench/bench_bus.h"
#include "bench/bench_ring.h"
#include "bench/looks.h"
#include "bench/ping_pong.h"
#include "bench/record_source.h"
#include "bench/rows.h"
#include "bench/two_processes.h"

namespace lapwing::bench {

using RoundTripRecord = TypedRecord<kRecordBytes>;

// Two bare rings: only the hot path.
[[gnu::always_inline]] inline void await_record(detail::ReadPath& in, RoundTripRecord& record) {
  constexpr std::uint32_t kLooks = 1u << 30;  // the other side has ended
  if (!in.take(record, kLooks)) fail("a reply does not match its request");
}

template <bool kCounted>
static double ring_round_trip_ns(const Setting& setting, Placement placement,
                                 std::size_t round_trips, Rhythm rhythm, Looks& looks) {
  const std::uint64_t capacity = capacity_for(setting);
  const RingName ping = new_ring_name(setting.ring_directory);
  const RingName pong = new_ring_name(setting.ring_directory);
  const Shared<std::atomic<int>> rings_made;
  Child echo(placement.second, [&] {
    WrittenRing out(pong, capacity, kRecordBytes);
    rings_made->fetch_add(1);
    spin_until([&] { return *rings_made == 2; });
    const ReadRing ring(ping);
    detail::ReadPath in = ring.path();
    RoundTripRecord record;
    for (Sequence n = 1; n <= capacity + round_trips; ++n) {
      await_record(in, record);
      out.publish(n, record);
    }
  });
  pin_to_core(placement.first);
  WrittenRing out(ping, capacity, kRecordBytes);
  rings_made->fetch_add(1);
  spin_until([&] { return *rings_made == 2; });
  const ReadRing ring(pong);
  detail::ReadPath in = ring.path();
  if constexpr (kCounted) looks.start(pong);
  RoundTripRecord record = {};
  const double median = median_round_trip_ns(rhythm, capacity, round_trips, [&](Sequence n) {
    record.words[0] = n;
    out.publish(n, record);
    if constexpr (kCounted) {
      if (n == capacity + 1) looks.restart();
      looks.await(n);
    }
    await_record(in, record);
  });
  echo.join();
  return median;
}

// Two buses: a publisher and a busy subscriber in each process.
[[gnu::always_inline]] inline void await_record(Subscriber& subscriber, RoundTripRecord& record,
                                                Deadline deadline) {
  if (subscriber.read_one(record, deadline).ok()) return;
  fail("an event in the middle of a round trip, or silence");
}

inline void await_other_side(Subscriber& subscriber, std::atomic<int>& joined) {
  await_join(subscriber);
  joined.fetch_add(1);
  spin_until([&] { return joined == 2; });
}

// Finds the ring of a session's publisher.
inline RingName ring_of(const Setting& setting, Id128 session_id) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(setting.ring_directory)) {
    const RingName ring{entry.path().parent_path(), session_id};
    if (entry.path() == ring.path()) return ring;
  }
  fail("a bus without a ring");
}

template <bool kCounted>
static double bus_round_trip_ns(const Setting& setting, Placement placement,
                                std::size_t round_trips, Rhythm rhythm, Looks& looks) {
  const std::uint64_t warm_up = capacity_for(setting);
  const PrivateDirectory ping(setting.ring_directory);
  const PrivateDirectory pong(setting.ring_directory);
  const Shared<std::atomic<int>> joined;
  Child echo(placement.second, [&] {
    const auto out = open_publisher(setting, swapped(placement), pong.path(), Journal::kNone);
    Subscriber in =
        value_or_fail(Subscriber::open(subscriber_options(ping.path(), WaitStrategy::kBusy)));
    await_other_side(in, *joined);
    RoundTripRecord record;
    const Deadline deadline = kHang;
    for (std::size_t n = 1; n <= warm_up + round_trips; ++n) {
      await_record(in, record, deadline);
      publish_or_fail(*out, record);
    }
  });
  const auto out = open_publisher(setting, placement, ping.path(), Journal::kNone);
  Subscriber in =
      value_or_fail(Subscriber::open(subscriber_options(pong.path(), WaitStrategy::kBusy)));
  await_other_side(in, *joined);
  if constexpr (kCounted) looks.start(ring_of(setting, in.session_id()));
  RoundTripRecord record = {};
  const Deadline deadline = kHang;
  const double median = median_round_trip_ns(rhythm, warm_up, round_trips, [&](std::uint64_t n) {
    record.words[0] = n;
    publish_or_fail(*out, record);
    if constexpr (kCounted) {
      if (n == warm_up + 1) looks.restart();
      looks.await(n);
    }
    await_record(in, record, deadline);
  });
  echo.join();
  return median;
}

}  // namespace lapwing::bench
