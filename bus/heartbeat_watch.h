// Measures the age of a publisher's heartbeat.
//
// The heartbeat is a time on the publisher's CLOCK_MONOTONIC. A reader in the same time namespace
// subtracts it from its own clock. In another time namespace, that clock has a different offset. In
// that case, and if the heartbeat is in the future, the reader measures with its own clock how long
// the value has remained unchanged. The first age is then 0. So a silent publisher is detected late
// but reliably, and a running one is not reported as silent.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>

#include "os/process_state.h"
#include "proto/ring_layout.h"
#include "proto/ring_words.h"

namespace lapwing {

class HeartbeatWatch {
 public:
  explicit HeartbeatWatch(const RingHeader& ring)
      : has_same_clock_(ring.publisher_time_namespace == 0 ||
                        ring.publisher_time_namespace == own_namespaces().time) {}

  std::uint64_t age_ns(const RingWords& words, std::uint64_t now_ns) {
    const std::uint64_t beat_ns = load_heartbeat(words);
    if (beat_ns != seen_ || since_ns_ == 0) {
      has_changed_ = since_ns_ != 0;
      seen_ = beat_ns;
      since_ns_ = now_ns;
    }
    if (is_measured_by_change(beat_ns, now_ns)) return now_ns - since_ns_;
    return now_ns > beat_ns ? now_ns - beat_ns : 0;
  }
  // Whether the age is the time since this value was first seen, so that one poll proves nothing.
  bool is_measured_by_change(std::uint64_t beat_ns, std::uint64_t now_ns) const {
    return !has_same_clock_ || beat_ns > now_ns + kClockReadNs;
  }
  // False if the age is measured by changes and no change has been seen yet. The age is then at
  // least age_ns().
  bool is_age_known(std::uint64_t beat_ns, std::uint64_t now_ns) const {
    return has_changed_ || !is_measured_by_change(beat_ns, now_ns);
  }

 private:
  // Tolerance, because the reader's time is taken before the heartbeat is loaded.
  static constexpr std::uint64_t kClockReadNs = 1'000'000'000;

  bool has_same_clock_;
  std::uint64_t seen_ = 0;
  std::uint64_t since_ns_ = 0;
  bool has_changed_ = false;
};

}  // namespace lapwing
