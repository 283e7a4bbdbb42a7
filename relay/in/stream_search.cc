#include "relay/in/stream_search.h"

#include <algorithm>

namespace lapwing {

std::optional<std::uint64_t> StreamSearch::probe() {
  if (low_ >= high_) return std::nullopt;
  if (step_ != 0 && high_ - low_ > step_) {
    probe_ = high_ - step_;
  } else {
    probe_ = low_ + (high_ - low_) / 2;
  }
  return probe_;
}

void StreamSearch::saw(std::uint64_t stream_sequence, bool is_before) {
  if (is_before) {
    low_ = std::max(low_, std::min(stream_sequence + 1, high_));
    step_ = 0;
  } else {
    saw_nothing();
  }
}

void StreamSearch::saw_nothing() {
  high_ = probe_;
  step_ *= 2;
}

}  // namespace lapwing
