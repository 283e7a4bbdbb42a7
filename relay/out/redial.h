// When to connect again after a loss: at once, then after pauses that double up to kRedialNsMax.
// Each is shortened by chance, by up to a half, so that many relays do not come back together.
//
// Thread safety: one thread. Has no clock; times are ns of any monotonic clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace lapwing {

class Redial {
 public:
  static constexpr std::uint64_t kRedialNsMin = 50'000'000;
  static constexpr std::uint64_t kRedialNsMax = 1'000'000'000;
  // A connection that lasted this long ends the trouble.
  static constexpr std::uint64_t kSteadyNs = 5'000'000'000;

  explicit Redial(std::uint64_t seed) : random_(seed) {}

  std::uint64_t at_ns() const { return at_ns_; }
  void connected(std::uint64_t now_ns) { since_ns_ = now_ns; }
  // The connection is lost, or could not be made.
  void failed(std::uint64_t now_ns) {
    if (since_ns_ != 0 && now_ns - since_ns_ >= kSteadyNs) pause_ns_ = 0;
    since_ns_ = 0;
    pause_ns_ = std::clamp(2 * pause_ns_, kRedialNsMin, kRedialNsMax);
    at_ns_ = now_ns + pause_ns_ / 2 + random_() % (pause_ns_ / 2 + 1);
  }

 private:
  std::mt19937_64 random_;
  std::uint64_t pause_ns_ = 0;
  std::uint64_t since_ns_ = 0;
  std::uint64_t at_ns_ = 0;
};

}  // namespace lapwing
