// The process timed by bench/time_to_live.py: joins a market-by-order bus, folds resting orders,
// and prints a line when it has caught up.
//
//   lapwing_time_to_live BUS start|snapshot      prints one line of JSON when caught up, then ends
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/error.h"
#include "lapwing/load_state.h"
#include "lapwing/memory_state.h"
#include "lapwing/subscriber.h"

namespace lapwing::bench {
namespace {

constexpr std::chrono::seconds kPatience{120};
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
  auto loaded = load_state(options, kPatience);
  if (!loaded.ok()) return fail(loaded.status());
  say(loaded->as_of(), loaded->subscriber().counters(), loaded->state());
  return 0;
}

int from_start(const SubscriberOptions& options) {
  const auto fold = make_fold("orders", "dbn.mbo");
  if (!fold.ok()) return fail(fold.status());
  MemoryState state((*fold)->shape());
  std::vector<std::byte> rows(kBatchRecords * (*fold)->shape().record_bytes);
  auto subscriber = Subscriber::open(options);
  if (!subscriber.ok()) return fail(subscriber.status());
  for (;;) {
    const Result<Batch> batch = subscriber->read(rows, kPatience);
    if (batch == Errc::kTimedOut) return fail(make_error(batch.error(), "received no orders"));
    if (!batch.ok()) return fail(subscriber->status());
    if (batch->is(EventKind::kCaughtUp)) break;
    for (std::size_t i = 0; i < batch->count; ++i) {
      (*fold)->apply(batch->first + i,
                     std::span(rows).subspan(i * batch->row_bytes, batch->row_bytes), state);
    }
  }
  say(subscriber->counters().last, subscriber->counters(), state);
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
