// Shared by the programs of the trading desk: their records, and how they end.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "absl/status/status.h"
#include "lapwing/schema.h"

namespace desk {

struct Quote {
  std::uint64_t number;  // equal to its sequence, so that the tests detect missing records
  std::uint64_t sent;
  std::uint64_t instrument;
  std::int64_t bid;
  std::int64_t ask;
};
LAPWING_RECORD(Quote, "desk.quote", 1, number, (sent, kPublishTime), (instrument, kKey),
               (bid, kPrice), (ask, kPrice));

// An order or, when published by the gateway, its fill.
struct Order {
  std::uint64_t trader;
  std::uint64_t number;  // the trader's number for the order, from 1
  std::int64_t price;
};
LAPWING_RECORD(Order, "desk.order", 1, (trader, kKey), number, (price, kPrice));

enum class Kind : std::uint32_t { kNewOrder = 1, kFilled = 2 };  // of messages

// Written by the strategy for each of its quotes.
struct MadeQuote {
  std::uint64_t on;         // the sequence on which the quote is based
  std::uint64_t looked_ns;  // UTC, before it checked that it is live
};

inline constexpr std::uint32_t kBehindMax = 100;  // records by which a quote may be behind

inline std::uint64_t utc_ns() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count());
}

inline int fail(const absl::Status& status) {
  std::cerr << status.ToString() << '\n';
  return EXIT_FAILURE;
}

}  // namespace desk
