// The message from the strategy to the gateway.
#pragma once

#include <cstdint>
#include <type_traits>

#include "lapwing/sequence.h"

// The id of an order is the record that caused it: the journal of the bus and the sequence. Reading
// the record again produces the same order with the same id.
struct Order {
  lapwing::Id128 journal_id;
  lapwing::Sequence sequence;
  std::int64_t price;  // 1e-9 units
  std::uint32_t size;
  std::uint32_t instrument_id;
};
static_assert(std::is_trivially_copyable_v<Order>);

inline constexpr std::uint32_t kNewOrder = 1;  // message type of an order
