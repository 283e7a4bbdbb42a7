// Is one way of doing things really worse than another, or was it chance? A sign-flip test.
//
// The two were measured in pairs of neighbouring blocks. If it made no difference which was which,
// each pair's difference might as well have had the other sign. So: of all 2^n ways to choose the
// signs, the share whose sum is at least the sum that was seen. No distribution is assumed, and for
// ten pairs all 1,024 ways are counted.
//
// Thread safety: pure function.
#pragma once

#include <cstddef>
#include <span>

namespace lapwing::bench {

inline constexpr double kSignificance = 0.05;
inline constexpr std::size_t kPairsMax = 20;

// `differences`: suspect minus reference, one for each pair, at most kPairsMax. Returns the
// probability of a sum at least as large by chance: small means that the suspect is worse.
double sign_flip_probability(std::span<const double> differences);

}  // namespace lapwing::bench
