// A ring's past heads: how fast the head moves, and when it reached a record.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::uint64_t kSampleNs = 100'000'000;  // between samples
inline constexpr std::size_t kSamplesMax = 36'000;       // an hour's worth

class HeadHistory {
 public:
  // A head below the last one belongs to another history, which replaces this one.
  void add(std::uint64_t now_ns, Sequence head);
  void clear() { samples_.clear(); }

  // Records per second between the newest sample and the last one at least `window_ns` older, or
  // else the oldest one. 0 if there are fewer than two samples.
  double rate(std::uint64_t window_ns) const;
  // The time when the head reached `n`, interpolated between two samples. nullopt if that was
  // before the first sample or has not happened yet.
  std::optional<std::uint64_t> when_reached(Sequence n) const;
  // The time of the first sample.
  std::optional<std::uint64_t> since() const;

 private:
  struct Sample {
    std::uint64_t time_ns;
    Sequence head;
  };
  std::deque<Sample> samples_;  // by time and head, ascending
};

}  // namespace lapwing
