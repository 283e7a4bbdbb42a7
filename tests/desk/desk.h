// What the programs of the trading desk share: their records, and how they end.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "absl/status/status.h"
#include "lapwing/schema.h"

namespace desk {

struct Quote {
  std::uint64_t number;  // as its sequence, so that the tests see what is missing
  std::uint64_t sent;
  std::uint64_t instrument;
  std::int64_t bid;
  std::int64_t ask;
};
LAPWING_RECORD(Quote, "desk.quote", 1, number, (sent, kPublishTime), (instrument, kKey),
               (bid, kPrice), (ask, kPrice));

// An order, and, published by the gateway, that it was filled.
struct Order {
  std::uint64_t trader;
  std::uint64_t number;  // of the trader's, from 1
  std::int64_t price;
};
LAPWING_RECORD(Order, "desk.order", 1, (trader, kKey), number, (price, kPrice));

enum class Kind : std::uint32_t { kNewOrder = 1, kFilled = 2 };  // of messages

// What the strategy writes for each of its quotes.
struct MadeQuote {
  std::uint64_t on;         // the sequence that it rests on
  std::uint64_t looked_ns;  // UTC, before it looked whether it is live
};

inline constexpr std::uint32_t kBehindMax = 100;  // records that a quote may not know of

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
