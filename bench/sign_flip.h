// A sign-flip test: is one variant really worse than another, or is the difference chance?
//
// The two were measured in pairs of neighbouring blocks. If they were equal, the difference in each
// pair might as well have the opposite sign. The result is the share of all 2^n choices of signs
// whose sum is at least the observed sum. The test assumes no distribution. For ten pairs it counts
// all 1,024 choices.
//
// Thread safety: pure function.
#pragma once

#include <cstddef>
#include <span>

namespace lapwing::bench {

inline constexpr double kSignificance = 0.05;
inline constexpr std::size_t kPairsMax = 20;

// `differences`: suspect minus reference, one per pair, at most kPairsMax. Returns the probability
// of a sum at least as large by chance. A small value means that the suspect is worse.
double sign_flip_probability(std::span<const double> differences);

}  // namespace lapwing::bench
