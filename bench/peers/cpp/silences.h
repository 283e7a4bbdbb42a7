// The longest time without a record for a reader.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bench/peers/cpp/numbered_record.h"

namespace lapwing::peers {

// A sound is a record, or several at once. The wait for the first sound is not a silence, because
// records may not have been published yet. The wait for a record that did not arrive before the end
// is a silence.
class Silences {
 public:
  explicit Silences(std::uint64_t since_ns) : last_ns_(since_ns) {}

  void add_sound(std::uint64_t now_ns) {
    if (heard_) add(now_ns);
    heard_ = true;
    last_ns_ = now_ns;
  }
  // Ends the measurement: no more records are published. Earlier records may still arrive.
  void end(std::uint64_t now_ns) { add(now_ns); }

  std::uint64_t longest_ns() const { return longest_ns_; }

 private:
  void add(std::uint64_t now_ns) { longest_ns_ = std::max(longest_ns_, now_ns - last_ns_); }

  std::uint64_t last_ns_;
  std::uint64_t longest_ns_ = 0;
  bool heard_ = false;
};

struct Heard {
  Arrivals arrivals;
  Silences silences;

  Heard(std::size_t words, std::uint64_t last, std::uint64_t now_ns)
      : arrivals(words, last), silences(now_ns) {}
};

}  // namespace lapwing::peers
