#include "bench/peers/cpp/report.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/peers/cpp/options.h"

namespace lapwing::peers {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kClockLooks = 100'000;
constexpr double kBlock = 64;

void print(const Json& line) {
  std::cout << line.dump() << std::endl;
}

Json percentiles(const Histogram& ns) {
  return {{"p50", ns.percentile_ns(0.5)},
          {"p90", ns.percentile_ns(0.9)},
          {"p99", ns.percentile_ns(0.99)},
          {"p99_9", ns.percentile_ns(0.999)},
          {"max", ns.max_ns()}};
}

double clock_ns() {
  const std::uint64_t start_ns = now_ns();
  std::uint64_t end_ns = start_ns;
  for (int i = 0; i < kClockLooks; ++i) end_ns = now_ns();
  return static_cast<double>(end_ns - start_ns) / kClockLooks;
}

double per_second(std::uint64_t count, std::uint64_t took_ns) {
  return took_ns == 0 ? 0 : static_cast<double>(count) * 1e9 / static_cast<double>(took_ns);
}

}  // namespace

void print_round_trips(std::uint64_t round_trips, const Histogram& block_ns, const Histogram& ns,
                       std::uint64_t damaged) {
  print({{"round_trips", round_trips},
         {"block_ns_p50", static_cast<double>(block_ns.percentile_ns(0.5)) / kBlock},
         {"ns", percentiles(ns)},
         {"clock_ns", clock_ns()},
         {"damaged", damaged}});
}

void print_published(std::uint64_t published, std::uint64_t took_ns) {
  print({{"published", published}, {"published_per_second", per_second(published, took_ns)}});
}

void print_arrivals(const Arrivals& arrivals, std::uint64_t published, Pace pace,
                    std::int64_t reported_lost) {
  print({{"received", arrivals.received()},
         {"delivered_per_second", per_second(pace.count, pace.took_ns)},
         {"lost", arrivals.lost(published)},
         {"reported_lost", reported_lost},
         {"torn", arrivals.torn()},
         {"out_of_order", arrivals.out_of_order()}});
}

void print_steady(double seconds, const SteadyFigures& figures) {
  const double millions = std::max(1.0, static_cast<double>(figures.due)) / 1e6;
  print({{"seconds", seconds},
         {"due", figures.due},
         {"published", figures.published},
         {"ns", percentiles(figures.ns)},
         {"over_10_us_per_million", static_cast<double>(figures.over_10_us) / millions},
         {"stalls_over_1_ms", figures.stalls_over_1_ms},
         {"longest_stall_ns", figures.longest_stall_ns},
         {"blocked_at_end", figures.blocked_at_end}});
}

void print_witness(const Arrivals& arrivals, std::uint64_t longest_silence_ns) {
  print({{"received", arrivals.received()},
         {"torn", arrivals.torn()},
         {"out_of_order", arrivals.out_of_order()},
         {"longest_silence_ns", longest_silence_ns}});
}

void print_histogram_of_input() {
  Histogram ns;
  for (std::uint64_t duration_ns = 0; std::cin >> duration_ns;) ns.add(duration_ns);
  print(percentiles(ns));
}

}  // namespace lapwing::peers
