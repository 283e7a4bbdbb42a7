// A custom fold for a trades bus: the volume-weighted average price and the price range of each
// instrument. Used by vwap.cc.
//
// Thread safety: immutable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "absl/numeric/int128.h"
#include "lapwing/dbn.h"
#include "lapwing/fold.h"

using Bytes = std::span<const std::byte>;
using lapwing::dbn::TradeMsg;

// The entry of an instrument: plain data of one size without padding, because entries are compared
// and stored as bytes. Instrument 0 counts lost records in `trades`.
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

// Big-endian, so that the bytewise order of keys is their numerical order.
inline TallyKey key_for(std::uint16_t publisher_id, std::uint32_t instrument_id) {
  TallyKey key;
  std::uint64_t rest = std::uint64_t{publisher_id} << 32 | instrument_id;
  for (std::size_t i = sizeof key.bytes; i > 0; rest >>= 8) {
    key.bytes[--i] = static_cast<std::byte>(rest & 0xff);
  }
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

  // Loads everything that depends on earlier trades from `state` and saves it there. A fold has no
  // state of its own, so processing can stop after any record and continue in another process.
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

  // Counts lost records, because the sums are incomplete without them.
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
