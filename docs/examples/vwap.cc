// A fold of your own (vwap_fold.h) in use: kept by a checkpointer, and loaded by who joins late.
//
//   lapwing publish --bus /tmp/trades --source dbn:trades.dbn.zst
//   vwap keep /tmp/trades
//   vwap show /tmp/trades
//
// `keep` may run beside the bus all day, and goes on where it was after any crash. `show` begins
// with its newest checkpoint, without one with the oldest record. Both end when the bus is closed.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "docs/examples/vwap_fold.h"
#include "lapwing/checkpointer.h"
#include "lapwing/subscriber.h"
#include "os/kernel.h"
#include "snapshot/fold/memory_state.h"

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

void print(const Tally& tally) {
  if (tally.instrument_id == 0) {
    std::printf("%llu records were lost\n", static_cast<unsigned long long>(tally.trades));
    return;
  }
  const double scale = lapwing::dbn::kPriceScale;
  const double turnover =
      static_cast<double>(absl::MakeInt128(tally.turnover_high, tally.turnover_low));
  std::printf("%u/%u: %llu trades, volume %llu, average %.6f, low %.6f, high %.6f\n",
              tally.publisher_id, tally.instrument_id,
              static_cast<unsigned long long>(tally.trades),
              static_cast<unsigned long long>(tally.volume),
              turnover / scale / static_cast<double>(tally.volume),
              static_cast<double>(tally.low) / scale, static_cast<double>(tally.high) / scale);
}

int fail(const std::string& why) {
  std::cerr << "vwap: " << why << '\n';
  return 1;
}

lapwing::SubscriberOptions options_for(const std::string& directory) {
  lapwing::SubscriberOptions options;
  options.directory = directory;
  options.name = "vwap";
  return options;
}

int keep(const std::string& directory) {
  lapwing::CheckpointerOptions options;
  options.subscriber = options_for(directory);
  auto checkpointer = lapwing::Checkpointer::open(options, std::make_unique<VwapFold>());
  if (!checkpointer.ok()) return fail(std::string(checkpointer.status().message()));
  while (!(*checkpointer)->is_closed()) {
    const absl::Status status = (*checkpointer)->run_until(lapwing::monotonic_ns() + kSecondNs);
    if (!status.ok()) return fail(std::string(status.message()));
  }
  const absl::Status status = (*checkpointer)->finish();
  return status.ok() ? 0 : fail(std::string(status.message()));
}

int show(const std::string& directory) {
  const auto fold = std::make_shared<const VwapFold>();
  lapwing::MemoryState state(fold->shape());
  lapwing::SubscriberOptions options = options_for(directory);
  options.start = lapwing::Start::snapshot(fold);
  lapwing::Subscriber subscriber(options);
  for (;;) {
    const lapwing::Item item = subscriber.wait(lapwing::monotonic_ns() + kSecondNs);
    switch (item.kind) {
      case lapwing::ItemKind::kState: {
        TallyKey key;
        fold->key_of(subscriber.record(), key.bytes);
        state.put(key.bytes, subscriber.record());
        break;
      }
      case lapwing::ItemKind::kRecord:
        fold->apply(item.sequence, subscriber.record(), state);
        break;
      case lapwing::ItemKind::kSnapshotComplete:
        std::cerr << "vwap: the state as of record " << item.sequence << '\n';
        break;
      case lapwing::ItemKind::kNoSnapshot:  // what is pruned is lost to a sum
        if (item.sequence > 1) fold->lose({.first = 1, .last = item.sequence - 1}, state);
        break;
      case lapwing::ItemKind::kLost:
        fold->lose(item.gap, state);
        break;
      case lapwing::ItemKind::kReset:  // another history
        state.clear();
        break;
      case lapwing::ItemKind::kEnded:
        return fail(std::string(subscriber.status().message()));
      case lapwing::ItemKind::kClosed:
        state.for_each([](Bytes entry) { print(copy<Tally>(entry)); });
        return 0;
      default:
        break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc == 3 ? argv[1] : "";
  if (role == "keep") return keep(argv[2]);
  if (role == "show") return show(argv[2]);
  std::cerr << "usage: vwap keep|show DIRECTORY\n";
  return 2;
}
