// Uses a custom fold (vwap_fold.h): a checkpointer keeps its state, and late joiners load it.
//
//   lapwing publish --bus /tmp/trades --source dbn:trades.dbn.zst
//   vwap keep /tmp/trades
//   vwap show /tmp/trades
//
// `keep` may run all day, and continues after any crash. `show` begins with the newest checkpoint
// or, without one, with the oldest record. Both end when the bus is closed.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "examples/vwap_fold.h"
#include "lapwing/checkpointer.h"
#include "lapwing/load_state.h"

namespace {

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

int fail(const absl::Status& status) {
  std::cerr << "vwap: " << status.message() << '\n';
  return 1;
}

int keep(const std::string& directory) {
  auto checkpointer =
      lapwing::Checkpointer::open({.subscriber = {.directory = directory, .name = "vwap"},
                                   .own_fold = std::make_shared<VwapFold>()});
  if (!checkpointer.ok()) return fail(checkpointer.status());
  const absl::Status ended = checkpointer->run(lapwing::Deadline::never());
  if (!ended.ok()) return fail(ended);
  if (absl::Status kept = checkpointer->finish(); !kept.ok()) return fail(kept);
  return 0;
}

int show(const std::string& directory) {
  auto loaded =
      lapwing::load_state({.directory = directory,
                           .name = "vwap",
                           .start = lapwing::Start::snapshot(std::make_shared<VwapFold>())},
                          lapwing::Deadline::never());
  if (!loaded.ok()) return fail(loaded.status());
  if (loaded->subscriber().state_size() > 0) {
    std::cerr << "vwap: the state as of record " << loaded->as_of() << '\n';
  }
  for (;;) {
    const auto item = loaded->next();
    if (item->is(lapwing::EventKind::kClosed)) break;
    if (!item.ok()) return fail(loaded->subscriber().status());
  }
  loaded->state().for_each([](Bytes entry) { print(copy<Tally>(entry)); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc == 3 ? argv[1] : "";
  if (role == "keep") return keep(argv[2]);
  if (role == "show") return show(argv[2]);
  std::cerr << "usage: vwap keep|show DIRECTORY\n";
  return 2;
}
