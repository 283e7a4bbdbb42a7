// The resting orders of one synthetic instrument: a queue per price level and side, oldest first.
//
// Everything is allocated once. An order is identified by its slot, which does not change until the
// order is removed.
//
// Invariants
//  1. Every live order is in exactly one queue and once in the list of live orders.
//  2. best(side) is the front of the best non-empty level.
//
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lapwing/dbn.h"

namespace lapwing {

class FlowBook {
 public:
  static constexpr std::uint32_t kLevels = 4096;     // ticks
  static constexpr std::uint32_t kOrdersMax = 2048;  // both sides
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Order {
    std::uint64_t id;
    std::uint32_t size;
    std::uint32_t level;
    dbn::Side side;
    std::uint32_t older;  // neighbours in the queue, kNone at its ends
    std::uint32_t newer;
    std::uint32_t live_index;
  };

  FlowBook();

  // Adds an order at the back of the level's queue. The book must not be full.
  std::uint32_t add(std::uint64_t id, dbn::Side side, std::uint32_t level, std::uint32_t size);
  void remove(std::uint32_t slot);
  void resize(std::uint32_t slot, std::uint32_t size) { orders_[slot].size = size; }
  // Moves an order to the back of a queue, as after a price change or a size increase.
  void requeue(std::uint32_t slot, std::uint32_t level, std::uint32_t size);

  const Order& order(std::uint32_t slot) const { return orders_[slot]; }
  bool full() const { return live_.size() == kOrdersMax; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(live_.size()); }
  std::uint32_t count(dbn::Side side) const { return half(side).count; }
  // Returns the live order with this number, which must be below count().
  std::uint32_t live(std::uint32_t index) const { return live_[index]; }

  // The oldest order at the best price; kNone if the side is empty.
  std::uint32_t best(dbn::Side side) const;
  // The level of the best price, or a hypothetical level near the middle if both sides are empty.
  std::uint32_t best_level(dbn::Side side) const;

 private:
  struct Queue {
    std::uint32_t oldest = kNone;
    std::uint32_t newest = kNone;
  };
  struct Half {
    std::array<std::uint64_t, kLevels / 64> occupied{};  // a bit per level
    std::vector<Queue> queues = std::vector<Queue>(kLevels);
    std::uint32_t count = 0;
    std::uint32_t best = kNone;  // level
  };

  Half& half(dbn::Side side) { return side == dbn::Side::kBid ? bids_ : asks_; }
  const Half& half(dbn::Side side) const { return side == dbn::Side::kBid ? bids_ : asks_; }
  void enqueue(std::uint32_t slot);
  void dequeue(std::uint32_t slot);
  std::uint32_t find_best(dbn::Side side) const;

  Half bids_;
  Half asks_;
  std::vector<Order> orders_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> live_;
};

}  // namespace lapwing
