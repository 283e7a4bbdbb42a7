// Paced load without coordinated omission: the due time of each record is fixed in advance, and a
// latency is measured from then, not from when the publisher was able to publish it.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/machine.h"

namespace lapwing::bench {

// The due time of each record, in ticks after the first.
class Schedule {
 public:
  static Schedule steady(std::size_t records, double per_second) {
    return Schedule(records, 1e9 / per_second / ns_per_tick(), {});
  }
  // Uses the times of `arrivals_ns`, which starts with 0 and never decreases.
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
  double ticks_;  // ticks per period, or per nanosecond
  std::vector<std::uint64_t> arrivals_;
};

// Calls send(record, due, looked) for each record when it is due, or immediately if it is late.
// `due` is in ticks(), and `looked` is the last value of ticks() before the call.
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
