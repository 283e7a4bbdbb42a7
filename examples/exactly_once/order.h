// What the strategy sends to the gateway.
#pragma once

#include <cstdint>
#include <type_traits>

#include "lapwing/sequence.h"

// The id of an order is the record that caused it: the journal of the bus and the sequence in it.
// The same record causes the same order again, under the same id.
struct Order {
  lapwing::Id128 journal_id;
  lapwing::Sequence sequence;
  std::int64_t price;  // 1e-9
  std::uint32_t size;
  std::uint32_t instrument_id;
};
static_assert(std::is_trivially_copyable_v<Order>);

inline constexpr std::uint32_t kNewOrder = 1;  // the type of its message
