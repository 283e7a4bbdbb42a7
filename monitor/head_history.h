// Where the head of a ring was, moment by moment: how fast it moves, and when it was at a record.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::uint64_t kSampleNs = 100'000'000;  // between two samples
inline constexpr std::size_t kSamplesMax = 36'000;       // an hour of them

class HeadHistory {
 public:
  // A head before the last one is of another history, and begins a new one.
  void add(std::uint64_t now_ns, Sequence head);
  void clear() { samples_.clear(); }

  // Records a second between the newest sample and the last one that is at least `window_ns` older,
  // or the oldest there is. 0 where there is one sample, or none.
  double rate(std::uint64_t window_ns) const;
  // When head reached `n`, by a straight line between two samples. Nothing where it was there at the
  // first sample, or is not yet.
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
