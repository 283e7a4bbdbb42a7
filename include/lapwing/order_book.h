// The order book of one instrument: its resting orders and their price levels.
//
//   if (const lapwing::PriceLevel* bid = book.best(lapwing::dbn::Side::kBid)) use(bid->price);
//
// It holds the entries of the fold `orders` (lapwing/order_entry.h) and updates its levels with
// them. The fold defines the effect of an add, a modify or a cancel. OrderBooks owns the book.
//
// Cost: reading the best level, the level count or a level by its index takes constant time.
// So does changing an order. Adding or removing a level costs more the farther it is from the
// touch. Does not allocate once the numbers of orders and levels have peaked.
//
// Invariants, for every order that has a side and a price:
//  1. it is in the queue of exactly one level, that of its side and price;
//  2. a level has at least one entry in its queue; its size and order count are those of its queue.
// An order without a side, or without a price, is not on any level. A top is the best price of a
// side, from a feed without orders. It is in a queue like an order, but is not counted as one.
//
// Thread safety: one thread, including reads (a queue is sorted when it is first read).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lapwing/dbn.h"
#include "lapwing/detail/price_ladder.h"
#include "lapwing/order_entry.h"
#include "lapwing/sequence.h"

namespace lapwing {

struct PriceLevel {
  std::int64_t price = dbn::kUndefPrice;
  std::uint64_t size = 0;    // of all its orders
  std::uint32_t orders = 0;  // 0: a top, whose number of orders is unknown
};

class OrderBook {
 public:
  OrderBook(std::uint16_t publisher_id, std::uint32_t instrument_id)
      : publisher_id_(publisher_id), instrument_id_(instrument_id) {}

  std::uint16_t publisher_id() const { return publisher_id_; }
  std::uint32_t instrument_id() const { return instrument_id_; }

  // Levels; `side` is kBid or kAsk. Valid until the next change.
  const PriceLevel* best(dbn::Side side) const {  // nullptr: the side is empty
    const PriceLadder& ladder = this->ladder(side);
    return ladder.size() == 0 ? nullptr : &levels_[ladder[0].level].shown;
  }
  std::size_t level_count(dbn::Side side) const { return ladder(side).size(); }
  // Index 0 is the best level.
  const PriceLevel& level(dbn::Side side, std::size_t index) const {
    return levels_[ladder(side)[index].level].shown;
  }
  // nullptr: no order rests at that price.
  const PriceLevel* find_level(dbn::Side side, std::int64_t price) const;

  // Calls use(const OrderEntry&) for each order of a level in queue order, or for its top.
  template <typename Use>
  void for_each_order(dbn::Side side, std::size_t index, Use&& use) const {
    const Level& level = levels_[ladder(side)[index].level];
    if (!level.in_order) sort_queue(level);
    for (std::uint32_t at = level.first; at != kNone; at = links_[at].next) use(entries_[at]);
  }

  std::size_t order_count() const { return slots_.size(); }    // without tops
  const OrderEntry* find_order(std::uint64_t order_id) const;  // nullptr: it is not in the book
  // The fold's entry for the book as a whole; nullptr until a record of the instrument arrives.
  const OrderEntry* state() const { return state_ ? &*state_ : nullptr; }

  // Whether its orders may differ from the venue's: records were lost, and neither a clear nor a
  // complete snapshot has followed.
  bool stale() const { return state_ && is_stale(*state_, lost_through_); }
  // The last sequence that was lost on the bus; kNoSequence: none.
  Sequence lost_through() const { return lost_through_; }
  // Whether the feed contains the best price of each side, but no orders.
  bool has_tops() const { return state_ && (state_->msg.flags & dbn::kFlagTop) != 0; }
  // False inside a venue's event, whose records belong together.
  bool settled() const { return !state_ || (state_->msg.flags & dbn::kFlagLast) != 0; }

  // Sequence and times of its last record, even if it changed nothing. kNoSequence if none has
  // arrived since a state was loaded.
  Sequence last_sequence() const { return last_sequence_; }
  std::uint64_t last_ts_event() const { return last_ts_event_; }
  std::uint64_t last_ts_recv() const { return last_ts_recv_; }

  // Calls `use` for its entries in key order. Sorts them first.
  void for_each_entry(const std::function<void(const OrderEntry& entry)>& use) const;
  // XXH3-64 over its entries, in key order.
  std::uint64_t digest() const;

 private:
  friend class OrderBooks;

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Link {
    std::uint32_t previous = kNone;  // neighbours in the queue
    std::uint32_t next = kNone;      // or the next free slot
    std::uint32_t level = kNone;
  };
  struct Level {
    PriceLevel shown;
    dbn::Side side = dbn::Side::kNone;
    mutable bool in_order = true;  // the queue is sorted by OrderEntry::place
    mutable std::uint32_t first = kNone;
    mutable std::uint32_t last = kNone;  // in a free level: the next free level
  };

  const PriceLadder& ladder(dbn::Side side) const {
    return side == dbn::Side::kBid ? bids_ : asks_;
  }
  PriceLadder& ladder(dbn::Side side) { return side == dbn::Side::kBid ? bids_ : asks_; }

  bool is_empty() const {
    return !state_ && slots_.empty() && tops_[0] == kNone && tops_[1] == kNone;
  }
  void reserve(std::size_t orders, std::size_t levels);
  void put_order(const OrderEntry& entry);
  void erase_order(std::uint64_t order_id);
  template <typename Matches>
  void erase_orders_if(Matches&& matches) {  // matches(order_id)
    absl::erase_if(slots_, [&](const auto& order) {
      if (!matches(order.first)) return false;
      remove(order.second);
      return true;
    });
  }
  // 0: ask, 1: bid.
  const OrderEntry* find_top(std::size_t index) const {
    return tops_[index] == kNone ? nullptr : &entries_[tops_[index]];
  }
  void put_top(std::size_t index, const OrderEntry& entry);
  void erase_top(std::size_t index);
  void note(Sequence sequence, const dbn::MboMsg& record);

  std::uint32_t add(const OrderEntry& entry);
  void change(std::uint32_t slot, const OrderEntry& entry);
  void remove(std::uint32_t slot);
  std::uint32_t take_level(dbn::Side side, std::int64_t price);
  void join_level(std::uint32_t slot);
  void leave_level(std::uint32_t slot);
  void drop_level(std::uint32_t index);
  void sort_queue(const Level& level) const;

  const std::uint16_t publisher_id_;
  const std::uint32_t instrument_id_;
  std::optional<OrderEntry> state_;
  Sequence lost_through_ = kNoSequence;  // of the whole bus

  absl::flat_hash_map<std::uint64_t, std::uint32_t> slots_;  // of orders, by their ids
  std::array<std::uint32_t, 2> tops_ = {kNone, kNone};       // slots, in key order
  std::vector<OrderEntry> entries_;                          // by slot
  mutable std::vector<Link> links_;                          // by slot
  std::uint32_t free_slot_ = kNone;
  std::vector<Level> levels_;
  std::uint32_t free_level_ = kNone;
  PriceLadder bids_;
  PriceLadder asks_;

  Sequence last_sequence_ = kNoSequence;
  std::uint64_t last_ts_event_ = dbn::kUndefTimestamp;
  std::uint64_t last_ts_recv_ = dbn::kUndefTimestamp;
};

}  // namespace lapwing
