// For tests of the fold `orders`: a state in memory, short functions for records, and the resting
// orders. Records have instrument 7 of publisher 1 unless specified otherwise.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "lapwing/memory_state.h"
#include "snapshot/fold/order_fold.h"

namespace lapwing {

inline constexpr std::uint32_t kTestInstrument = 7;

inline dbn::MboMsg test_record(dbn::Action action, std::uint64_t order_id, dbn::Side side,
                               std::int64_t price, std::uint32_t size,
                               std::uint8_t flags = dbn::kFlagLast) {
  dbn::MboMsg msg{};
  msg.hd = {sizeof msg / dbn::kLengthUnit, dbn::RType::kMbo, 1, kTestInstrument, 0};
  msg.order_id = order_id;
  msg.price = price;
  msg.size = size;
  msg.flags = flags;
  msg.action = action;
  msg.side = side;
  return msg;
}

class TestOrders {
 public:
  static constexpr dbn::Side kBid = dbn::Side::kBid;
  static constexpr dbn::Side kAsk = dbn::Side::kAsk;

  TestOrders() : state_(fold_.shape()) {}

  void apply(dbn::MboMsg msg) {
    ++sequence_;
    msg.hd.ts_event = 1'000 * sequence_;
    fold_.apply(sequence_, std::as_bytes(std::span(&msg, 1)), state_);
  }
  void add(std::uint64_t id, dbn::Side side, std::int64_t price, std::uint32_t size,
           std::uint8_t flags = dbn::kFlagLast) {
    apply(test_record(dbn::Action::kAdd, id, side, price, size, flags));
  }
  void modify(std::uint64_t id, dbn::Side side, std::int64_t price, std::uint32_t size) {
    apply(test_record(dbn::Action::kModify, id, side, price, size));
  }
  void cancel(std::uint64_t id, std::uint32_t size) {
    apply(test_record(dbn::Action::kCancel, id, kBid, 0, size));
  }
  void clear(std::uint8_t flags = dbn::kFlagLast) {
    apply(test_record(dbn::Action::kClear, 0, dbn::Side::kNone, dbn::kUndefPrice, 0, flags));
  }
  void lose_beginning() { fold_.lose(kMissingBeginning, state_); }
  // Loses the next `count` records.
  void lose(std::uint64_t count) {
    Gap gap;
    gap.first = sequence_ + 1;
    gap.last = sequence_ + count;
    sequence_ = gap.last;
    fold_.lose(gap, state_);
  }

  Sequence sequence() const { return sequence_; }  // of the last record
  MemoryState& state() { return state_; }
  const OrderFold& fold() const { return fold_; }

  std::optional<OrderEntry> entry(const OrderKey& key) {
    const std::byte* found = state_.find(bytes_of(key));
    if (found == nullptr) return std::nullopt;
    OrderEntry entry;
    std::memcpy(&entry, found, sizeof entry);
    return entry;
  }
  std::optional<OrderEntry> order(std::uint64_t id, std::uint32_t instrument = kTestInstrument) {
    return entry(order_key(1, instrument, id));
  }
  std::optional<OrderEntry> top(dbn::Side side) { return entry(top_key(1, kTestInstrument, side)); }
  OrderEntry book(std::uint32_t instrument = kTestInstrument) {
    return entry(book_key(1, instrument)).value_or(OrderEntry{});
  }
  // The remaining size of an order; 0 if it is not resting.
  std::uint32_t left(std::uint64_t id) {
    const std::optional<OrderEntry> found = order(id);
    return found ? found->msg.size : 0;
  }
  bool is_stale(std::uint32_t instrument = kTestInstrument) {
    const std::optional<OrderEntry> loss = entry(loss_key());
    return lapwing::is_stale(book(instrument), loss ? loss->place : kNoSequence);
  }
  std::uint32_t misfits() { return book().msg.size; }

  // The ids of the orders resting at a price, in queue order.
  std::vector<std::uint64_t> queue(dbn::Side side, std::int64_t price) {
    std::vector<OrderEntry> found;
    state_.for_each([&](std::span<const std::byte> bytes) {
      OrderEntry resting;
      std::memcpy(&resting, bytes.data(), sizeof resting);
      if (kind_of(resting) != OrderEntryKind::kOrder) return;
      if (resting.msg.side == side && resting.msg.price == price) found.push_back(resting);
    });
    std::sort(found.begin(), found.end(),
              [](const OrderEntry& a, const OrderEntry& b) { return a.place < b.place; });
    std::vector<std::uint64_t> ids;
    for (const OrderEntry& resting : found) ids.push_back(resting.msg.order_id);
    return ids;
  }

 private:
  OrderFold fold_;
  MemoryState state_;
  Sequence sequence_ = 0;
};

}  // namespace lapwing
