// A fold of your own: of each instrument on a bus of trades, the volume-weighted average price and
// the range.
//
//   lapwing publish --bus /tmp/trades --source dbn:trades.dbn.zst
//   vwap /tmp/trades
//
// Begins with the newest checkpoint of this fold, if somebody keeps one, otherwise with the oldest
// record; ends when the bus is closed, with a line for each publisher's instrument.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <span>
#include <string>

#include "absl/numeric/int128.h"
#include "bus/kernel.h"
#include "proto/dbn.h"
#include "snapshot/fold/key_bytes.h"
#include "snapshot/fold/memory_state.h"
#include "subscribers/subscriber.h"

namespace {

using Bytes = std::span<const std::byte>;
using lapwing::dbn::TradeMsg;

// The entry of an instrument. Plain, of one size, and without holes: it is compared and written to
// files as it is. Instrument 0 stands for what was lost: `trades` is how many records.
struct Tally {
  std::uint32_t instrument_id;
  std::uint16_t publisher_id;
  std::uint16_t zeros;
  std::uint64_t trades;
  std::uint64_t volume;
  std::int64_t high;
  std::int64_t low;
  std::int64_t turnover_high;  // price × size, 128 bits
  std::uint64_t turnover_low;
};
static_assert(std::has_unique_object_representations_v<Tally>);

struct TallyKey {
  std::byte bytes[6];
};

TallyKey key_for(std::uint16_t publisher_id, std::uint32_t instrument_id) {
  TallyKey key;
  lapwing::write_big_endian(publisher_id, key.bytes);
  lapwing::write_big_endian(instrument_id, key.bytes + sizeof publisher_id);
  return key;
}

template <typename T>
T copy(Bytes bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

class VwapFold : public lapwing::Fold {
 public:
  VwapFold() {
    shape_.name = "vwap";
    shape_.schema = lapwing::dbn::kSchemaTrades;
    shape_.record_bytes = sizeof(TradeMsg);
    shape_.entry_bytes = sizeof(Tally);
    shape_.key_bytes = sizeof(TallyKey);
  }

  const lapwing::FoldShape& shape() const override { return shape_; }

  void key_of(Bytes entry, std::span<std::byte> key) const override {
    const Tally tally = copy<Tally>(entry);
    const TallyKey own = key_for(tally.publisher_id, tally.instrument_id);
    std::memcpy(key.data(), own.bytes, sizeof own);
  }

  // Whatever it knows of earlier trades comes out of `state` and goes back into it: a fold keeps
  // nothing of its own, so a run may be cut after any record and go on elsewhere.
  void apply(lapwing::Sequence, Bytes record, lapwing::FoldState& state) const override {
    const TradeMsg trade = copy<TradeMsg>(record);
    if (trade.price == lapwing::dbn::kUndefPrice || trade.size == 0) return;
    const TallyKey key = key_for(trade.hd.publisher_id, trade.hd.instrument_id);
    Tally tally = load(state, key);
    const bool is_first = tally.trades == 0;
    tally.publisher_id = trade.hd.publisher_id;
    tally.instrument_id = trade.hd.instrument_id;
    tally.trades += 1;
    tally.volume += trade.size;
    tally.high = is_first ? trade.price : std::max(tally.high, trade.price);
    tally.low = is_first ? trade.price : std::min(tally.low, trade.price);
    const absl::int128 turnover = absl::MakeInt128(tally.turnover_high, tally.turnover_low) +
                                  absl::int128(trade.price) * trade.size;
    tally.turnover_high = absl::Int128High64(turnover);
    tally.turnover_low = absl::Int128Low64(turnover);
    save(state, key, tally);
  }

  // A sum that lacks something should say so.
  void lose(const lapwing::Gap& gap, lapwing::FoldState& state) const override {
    Tally lost = load(state, key_for(0, 0));
    lost.trades += gap.count();
    save(state, key_for(0, 0), lost);
  }

  bool settles(Bytes) const override { return true; }

  bool reads(Bytes record, std::span<std::byte> key) const override {
    const auto header = copy<lapwing::dbn::RecordHeader>(record.first(sizeof(TradeMsg::hd)));
    const TallyKey own = key_for(header.publisher_id, header.instrument_id);
    std::memcpy(key.data(), own.bytes, sizeof own);
    return true;
  }

 private:
  static Tally load(lapwing::FoldState& state, const TallyKey& key) {
    const std::byte* found = state.find(key.bytes);
    return found == nullptr ? Tally{} : copy<Tally>({found, sizeof(Tally)});
  }
  static void save(lapwing::FoldState& state, const TallyKey& key, const Tally& tally) {
    state.put(key.bytes, std::as_bytes(std::span(&tally, 1)));
  }

  lapwing::FoldShape shape_;
};

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

int run(const std::string& directory) {
  const auto fold = std::make_shared<const VwapFold>();
  lapwing::MemoryState state(fold->shape());
  lapwing::SubscriberOptions options;
  options.directory = directory;
  options.name = "vwap";
  options.start = lapwing::Start::snapshot(fold);
  lapwing::Subscriber subscriber(options);
  for (;;) {
    const lapwing::Item item = subscriber.wait(lapwing::monotonic_ns() + 1'000'000'000);
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
  if (argc != 2) {
    std::cerr << "usage: vwap DIRECTORY\n";
    return 2;
  }
  return run(argv[1]);
}
