// What bench/time_to_live.py times: a process that joins a bus of market by order, folds what
// rests, and says when it has caught up.
//
//   lapwing_time_to_live BUS start|snapshot      one line of JSON when it has caught up, then it
//   ends
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/load_state.h"
#include "lapwing/subscriber.h"
#include "os/kernel.h"
#include "snapshot/fold/memory_state.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kDeadlineNs = 120'000'000'000;
constexpr std::size_t kBatchRecords = 1024;

int fail(const absl::Status& status) {
  std::cerr << "time_to_live: " << status.message() << '\n';
  return 1;
}

void say(Sequence as_of, const SubscriberCounters& counters, const MemoryState& state) {
  std::cout << nlohmann::ordered_json{{"as_of", as_of},
                                      {"entries", counters.state},
                                      {"records", counters.records},
                                      {"lost", counters.lost},
                                      {"state", state.size()}}
                   .dump()
            << std::endl;
}

int from_snapshot(const SubscriberOptions& options) {
  auto loaded = load_state(options, monotonic_ns() + kDeadlineNs);
  if (!loaded.ok()) return fail(loaded.status());
  say(loaded->as_of(), loaded->subscriber().counters(), loaded->state());
  return 0;
}

int from_start(const SubscriberOptions& options) {
  const auto fold = make_fold("orders", "dbn.mbo");
  if (!fold.ok()) return fail(fold.status());
  MemoryState state((*fold)->shape());
  const std::uint32_t record_bytes = (*fold)->shape().record_bytes;
  std::vector<std::byte> batch(kBatchRecords * record_bytes);
  Subscriber subscriber(options);
  for (Item item; item.kind != ItemKind::kCaughtUp;) {
    item = subscriber.wait(monotonic_ns() + kDeadlineNs);
    if (item.kind == ItemKind::kEnded) return fail(subscriber.status());
    if (item.kind != ItemKind::kRecord) continue;
    (*fold)->apply(item.sequence, subscriber.record(), state);
    const std::size_t count = subscriber.poll_batch(batch);
    const Sequence first = subscriber.counters().last - count + 1;
    for (std::size_t i = 0; i < count; ++i) {
      (*fold)->apply(first + i, std::span(batch).subspan(i * record_bytes, record_bytes), state);
    }
  }
  say(subscriber.counters().last, subscriber.counters(), state);
  return 0;
}

}  // namespace
}  // namespace lapwing::bench

int main(int argc, char** argv) {
  const std::string from = argc == 3 ? argv[2] : "";
  lapwing::SubscriberOptions options;
  if (argc == 3) options.directory = argv[1];
  if (from == "snapshot") {
    options.start = lapwing::Start::snapshot("orders");
    return lapwing::bench::from_snapshot(options);
  }
  if (from == "start") {
    options.start = lapwing::Start::oldest();
    return lapwing::bench::from_start(options);
  }
  std::cerr << "usage: lapwing_time_to_live BUS start|snapshot\n";
  return 2;
}
