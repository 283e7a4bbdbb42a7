// Counts how often a reader polls before its record is ready, and the stamps that it sees: the
// parts of a round trip's time. Counting takes time, so it is done in a separate pass.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/bench_ring.h"
#include "bench/machine.h"
#include "bench/ping_pong.h"
#include "bench/rows.h"
#include "lapwing/detail/read_path.h"

namespace lapwing::bench {

class Looks {
 public:
  // Starts counting on this ring.
  void start(const RingName& name) {
    ring_.emplace(name);
    path_ = ring_->path();
  }
  // Resets the counters.
  void restart() { waits_ = looks_ = in_writing_ = 0; }

  // Waits for record n as ReadPath::take does, without taking it.
  void await(Sequence n) {
    const Word& stamp = *reinterpret_cast<const Word*>(path_.slot(n, path_.slot_shift));
    ++waits_;
    for (std::uint64_t more = kLooksMax; more > 0; --more) {
      // Relaxed is sufficient: take() loads the stamp again, with acquire order.
      const Word seen = detail::load(stamp, std::memory_order_relaxed);
      ++looks_;
      if (seen >= ready_stamp(n)) return;
      if (seen == writing_stamp(n)) ++in_writing_;
      spin_pause();
    }
    fail("a reply does not match its request");
  }

  void add_to(std::vector<Detail>& details) const {
    const auto looks = static_cast<double>(looks_);
    details.push_back({"looks of a wait", looks / static_cast<double>(waits_), ""});
    details.push_back(
        {"odd stamps", 1e3 * static_cast<double>(in_writing_) / looks, "of a thousand looks"});
  }

 private:
  static constexpr std::uint64_t kLooksMax = 1u << 30;  // the other side has ended

  std::optional<ReadRing> ring_;
  detail::ReadPath path_;
  std::uint64_t waits_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t in_writing_ = 0;  // stamps of records being written
};

// Round trips as in the rows, with this side's waits counted after the warm-up. The time includes
// the counting.
double counted_ring_round_trip_ns(const Setting& setting, Placement placement,
                                  std::size_t round_trips, Rhythm rhythm, Looks& looks);
double counted_bus_round_trip_ns(const Setting& setting, Placement placement,
                                 std::size_t round_trips, Rhythm rhythm, Looks& looks);

}  // namespace lapwing::bench
