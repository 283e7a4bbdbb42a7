// The output lines of the roles. bench/peers/README.md describes their fields.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/peers/cpp/histogram.h"
#include "bench/peers/cpp/numbered_record.h"

namespace lapwing::peers {

struct SteadyFigures {
  std::uint64_t due = 0;
  std::uint64_t published = 0;
  Histogram ns;
  std::uint64_t over_10_us = 0;
  std::uint64_t stalls_over_1_ms = 0;
  std::uint64_t longest_stall_ns = 0;
  bool blocked_at_end = false;

  void add_latency(std::uint64_t latency_ns) {
    ns.add(latency_ns);
    over_10_us += latency_ns > 10'000 ? 1 : 0;
  }
  void add_published(std::uint64_t took_ns) {
    ++published;
    add_stall(took_ns);
  }
  void add_stall(std::uint64_t took_ns) {
    stalls_over_1_ms += took_ns > 1'000'000 ? 1 : 0;
    longest_stall_ns = std::max(longest_stall_ns, took_ns);
  }
};

void print_round_trips(std::uint64_t round_trips, const Histogram& block_ns, const Histogram& ns,
                       std::uint64_t damaged);
void print_published(std::uint64_t published, std::uint64_t took_ns);
// The number of records received within a time.
struct Pace {
  std::uint64_t count;
  std::uint64_t took_ns;
};
void print_arrivals(const Arrivals& arrivals, std::uint64_t published, Pace pace,
                    std::int64_t reported_lost);
void print_steady(double seconds, const SteadyFigures& figures);
void print_witness(const Arrivals& arrivals, std::uint64_t longest_silence_ns);
// Prints only the percentiles of durations read from standard input, one per line.
void print_histogram_of_input();

}  // namespace lapwing::peers
