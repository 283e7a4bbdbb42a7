// Shared by the rates of C and C++. See README.md.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lapwing::bench {

// The arguments of a rate: key=value.
class Step {
 public:
  Step(int argc, char** argv) {
    for (int i = 0; i < argc; ++i) {
      const std::string word = argv[i];
      const std::size_t equals = word.find('=');
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  const std::string& text(const std::string& key) const { return values_.at(key); }
  std::uint64_t number(const std::string& key) const { return std::stoull(text(key)); }

 private:
  std::map<std::string, std::string> values_;
};

using Rates = std::map<std::string, std::function<std::string(const Step&)>>;

// Runs the rate named by the first argument, and prints its result.
inline int run_rate(const Rates& rates, int argc, char** argv) {
  const auto found = argc < 2 ? rates.end() : rates.find(argv[1]);
  if (found == rates.end()) return 2;
  std::puts(found->second(Step(argc - 2, argv + 2)).c_str());
  return 0;
}

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

// The ns per record of the median pass, after one more pass as a warm-up. pass(timed) calls
// timed(work) once with the work to time.
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

// The ns per round trip of the median block of `count` round trips. The first block is a warm-up.
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

}  // namespace lapwing::bench
