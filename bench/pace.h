// Paced load without coordinated omission: when each record is due is fixed beforehand, and a
// latency counts from then, not from when the publisher got round to it.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/machine.h"

namespace lapwing::bench {

// When record 0, 1, … is due, in ticks after the first.
class Schedule {
 public:
  static Schedule steady(std::size_t records, double per_second) {
    return Schedule(records, 1e9 / per_second / ns_per_tick(), {});
  }
  // As `arrivals_ns` says, which begins with 0 and does not fall.
  static Schedule recorded(std::vector<std::uint64_t> arrivals_ns) {
    const std::size_t records = arrivals_ns.size();
    return Schedule(records, 1 / ns_per_tick(), std::move(arrivals_ns));
  }

  std::size_t records() const { return records_; }
  std::uint64_t due_ticks(std::size_t record) const {
    const auto at = static_cast<double>(arrivals_.empty() ? record : arrivals_[record]);
    return static_cast<std::uint64_t>(at * ticks_);
  }

 private:
  Schedule(std::size_t records, double ticks, std::vector<std::uint64_t> arrivals)
      : records_(records), ticks_(ticks), arrivals_(std::move(arrivals)) {}

  std::size_t records_;
  double ticks_;  // of a period, or of a nanosecond
  std::vector<std::uint64_t> arrivals_;
};

// Calls send(record, due, looked) for each record when it is due, or at once when it is late: `due`
// in ticks(), and the `ticks()` that was seen last before the call.
template <typename Send>
void send_when_due(const Schedule& schedule, Send&& send) {
  const std::uint64_t began = ticks();
  for (std::size_t record = 0; record < schedule.records(); ++record) {
    const std::uint64_t due = began + schedule.due_ticks(record);
    std::uint64_t now = ticks();
    while (now < due) now = ticks();
    send(record, due, now);
  }
}

}  // namespace lapwing::bench
