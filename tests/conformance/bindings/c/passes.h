// How the rates of languages are timed: README.md, Rates.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::conformance {

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Work>
double ns_of(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// ns a record of the median pass; one pass more warms up. pass(timed) calls timed(work) once, with
// what is to be timed.
template <typename Pass>
double median_pass_ns(std::uint64_t passes, std::uint64_t records, Pass&& pass) {
  std::vector<double> each;
  for (std::uint64_t i = 0; i <= passes; ++i) {
    pass([&](auto&& work) {
      const double ns = ns_of(work);
      if (i > 0) each.push_back(ns / static_cast<double>(records));
    });
  }
  return median(each);
}

inline constexpr std::uint64_t kBlock = 1000;  // round trips

// ns a round trip of the median block of `count` round trips; the first block warms up.
template <typename RoundTrip>
double median_round_trip_ns(std::uint64_t count, RoundTrip&& round_trip) {
  std::vector<double> blocks;
  for (std::uint64_t done = 0; done < count; done += kBlock) {
    const double ns = ns_of([&] {
      for (std::uint64_t i = 0; i < kBlock; ++i) round_trip();
    });
    if (done > 0) blocks.push_back(ns / static_cast<double>(kBlock));
  }
  return median(blocks);
}

}  // namespace lapwing::conformance
