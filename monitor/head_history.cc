#include "monitor/head_history.h"

#include <algorithm>

namespace lapwing {

void HeadHistory::add(std::uint64_t now_ns, Sequence head) {
  if (!samples_.empty() && (head < samples_.back().head || now_ns < samples_.back().time_ns)) {
    samples_.clear();
  }
  if (samples_.size() == kSamplesMax) samples_.pop_front();
  samples_.push_back({now_ns, head});
}

double HeadHistory::rate(std::uint64_t window_ns) const {
  if (samples_.size() < 2) return 0;
  const Sample& newest = samples_.back();
  const auto after = std::upper_bound(
      samples_.begin(), samples_.end(), newest.time_ns - std::min(newest.time_ns, window_ns),
      [](std::uint64_t time_ns, const Sample& sample) { return time_ns < sample.time_ns; });
  const Sample& from = after == samples_.begin() ? *after : *(after - 1);
  if (from.time_ns == newest.time_ns) return 0;
  return static_cast<double>(newest.head - from.head) * 1e9 /
         static_cast<double>(newest.time_ns - from.time_ns);
}

std::optional<std::uint64_t> HeadHistory::when_reached(Sequence n) const {
  const auto at = std::lower_bound(
      samples_.begin(), samples_.end(), n,
      [](const Sample& sample, Sequence sequence) { return sample.head < sequence; });
  if (at == samples_.end() || at == samples_.begin()) return std::nullopt;
  const Sample& before = *(at - 1);
  const double part =
      static_cast<double>(n - before.head) / static_cast<double>(at->head - before.head);
  return before.time_ns +
         static_cast<std::uint64_t>(part * static_cast<double>(at->time_ns - before.time_ns));
}

std::optional<std::uint64_t> HeadHistory::since() const {
  return samples_.empty() ? std::nullopt : std::optional(samples_.front().time_ns);
}

}  // namespace lapwing
