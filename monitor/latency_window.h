// Latency over the last minute. A subscriber reports counts since it was opened, so the difference
// from an earlier report covers the time in between.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "lapwing/ages.h"
#include "monitor/subscriber_status.h"

namespace lapwing {

inline constexpr std::uint64_t kLatencyWindowNs = 60'000'000'000;
inline constexpr std::uint64_t kLatencyStepNs = 5'000'000'000;  // between kept reports

class LatencyWindow {
 public:
  // Adds the newest report. Returns the latency in the window; nullopt after the first report.
  std::optional<RecentLatency> add(std::uint64_t now_ns, const Latency& latency) {
    std::optional<RecentLatency> recent;
    const Counts counts = counts_of(latency);
    while (kept_.size() > 1 && now_ns - kept_[1].at_ns >= kLatencyWindowNs) kept_.pop_front();
    if (!kept_.empty()) {
      recent.emplace();
      recent->over_ns = now_ns - kept_.front().at_ns;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::uint64_t before = kept_.front().counts[i];
        if (counts[i] <= before) continue;
        const bool is_last = i + 1 == counts.size();
        const std::uint64_t age_ns = is_last ? latency.age_ns.max() : AgeHistogram::last_of(i);
        recent->age_ns.add(std::min(age_ns, latency.age_ns.max()), counts[i] - before);
      }
    }
    if (kept_.empty() || now_ns - kept_.back().at_ns >= kLatencyStepNs) {
      kept_.push_back({now_ns, counts});
    }
    return recent;
  }

 private:
  using Counts = std::array<std::uint64_t, AgeHistogram::kBuckets>;
  struct Kept {
    std::uint64_t at_ns;
    Counts counts;
  };

  static Counts counts_of(const Latency& latency) {
    Counts counts{};
    std::ranges::copy(latency.age_ns.counts(), counts.begin());
    return counts;
  }

  std::deque<Kept> kept_;  // the oldest first
};

}  // namespace lapwing
