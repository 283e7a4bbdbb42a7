// A small deterministic generator (SplitMix64) and the distributions that the synthetic flow needs.
// It uses only integers, so that the same seed produces the same flow on every machine.
//
// Thread safety: one thread.
#pragma once

#include <bit>
#include <cstdint>

namespace lapwing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  // Uniform in [0, bound); bound > 0.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((std::uint64_t{static_cast<std::uint32_t>(next())} * bound) >>
                                      32);
  }

  // Heavy-tailed in [1, 2^(rungs)): each doubling is half as likely as the previous one.
  std::uint32_t ladder(unsigned rungs) {
    const std::uint64_t bits = next();
    const auto rung = static_cast<unsigned>(
        std::countr_zero(static_cast<std::uint32_t>(bits) | (1U << (rungs - 1))));
    const auto within = static_cast<std::uint32_t>(bits >> 32) & ((1U << rung) - 1);
    return (1U << rung) + within;
  }

 private:
  std::uint64_t state_;
};

}  // namespace lapwing
