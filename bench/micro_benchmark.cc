// lapwing_micro: single operations with Google Benchmark. The times are for one core with
// everything in the cache, and serve to compare versions of the code. The rows of lapwing_bench are
// the actual results.
#include <benchmark/benchmark.h>

#include "bench/operations.h"

namespace lapwing::bench {
namespace {

void store_slot(benchmark::State& state) {
  SlotBench bench(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) bench.store();
  state.SetItemsProcessed(state.iterations());
}

void load_slot(benchmark::State& state) {
  SlotBench bench(static_cast<std::size_t>(state.range(0)));
  bench.fill();
  for (auto _ : state) {
    if (!bench.load()) state.SkipWithError("a stored record was not there");
  }
  state.SetItemsProcessed(state.iterations());
}

void try_read(benchmark::State& state) {
  RingBench bench;
  for (auto _ : state) {
    if (!bench.try_read()) state.SkipWithError("a published record was not there");
  }
  state.SetItemsProcessed(state.iterations());
}

void publish(benchmark::State& state) {
  BusBench bench;
  for (auto _ : state) bench.publish<kRecordBytes>();
  state.SetItemsProcessed(state.iterations());
}

void publish_batch(benchmark::State& state) {
  BusBench bench;
  for (auto _ : state) bench.publish_batch();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatchRecords));
}

// One iteration processes a complete refill, so that pausing the clock has little effect.
template <typename TakeSome>
void drain(benchmark::State& state, TakeSome&& take_some) {
  BusBench bench;
  for (auto _ : state) {
    state.PauseTiming();
    bench.refill();
    state.ResumeTiming();
    for (std::size_t taken = 0; taken < BusBench::kRefillRecords;) taken += take_some(bench);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(BusBench::kRefillRecords));
}

void take(benchmark::State& state) {
  drain(state, [](BusBench& bench) { return bench.take() ? std::size_t{1} : 0; });
}

void read(benchmark::State& state) {
  drain(state, [](BusBench& bench) { return bench.read(); });
}

constexpr std::int64_t kKv = 16, kMbo = 56, kMbp1 = 80;  // record bytes
BENCHMARK(store_slot)->Arg(kKv)->Arg(kMbo)->Arg(kMbp1);
BENCHMARK(load_slot)->Arg(kKv)->Arg(kMbo)->Arg(kMbp1);
BENCHMARK(try_read);
BENCHMARK(publish);
BENCHMARK(publish_batch);
BENCHMARK(take)->Name("poll");  // as in lapwing_instructions
BENCHMARK(read)->Name("poll_batch");

}  // namespace
}  // namespace lapwing::bench

BENCHMARK_MAIN();
