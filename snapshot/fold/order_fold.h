// The fold `orders`: the resting orders, with remaining sizes and queue ranks, from DBN market by
// order. Only this file implements the rules; docs/explanation/state.md defines them.
//
// lapwing/order_entry.h defines the entries.
//
// Thread safety: immutable.
#pragma once

#include "lapwing/fold.h"
#include "lapwing/order_entry.h"

namespace lapwing {

// The keys of entries, for code that examines a state.
OrderKey loss_key();
OrderKey book_key(std::uint16_t publisher_id, std::uint32_t instrument_id);
OrderKey order_key(std::uint16_t publisher_id, std::uint32_t instrument_id, std::uint64_t order_id);
OrderKey top_key(std::uint16_t publisher_id, std::uint32_t instrument_id, dbn::Side side);
inline std::span<const std::byte> bytes_of(const OrderKey& key) {
  return std::as_bytes(std::span(&key, 1));
}

OrderEntryKind kind_of(const OrderEntry& entry);

class OrderFold : public Fold {
 public:
  OrderFold();

  const FoldShape& shape() const override { return shape_; }
  void key_of(std::span<const std::byte> entry, std::span<std::byte> key) const override;
  Sequence place_of(std::span<const std::byte> entry) const override;
  void apply(Sequence sequence, std::span<const std::byte> record, FoldState& state) const override;
  void lose(const Gap& gap, FoldState& state) const override;
  // True for a record with flag LAST.
  bool settles(std::span<const std::byte> record) const override;
  bool reads(std::span<const std::byte> record, std::span<std::byte> key) const override;

 private:
  FoldShape shape_;
};

}  // namespace lapwing
