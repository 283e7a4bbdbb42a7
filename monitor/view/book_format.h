// Formats an order book as text for traders, as a line in a list, as JSON, or as CSV rows.
//
// As text, prices have the fewest decimals that show every price in the book so far exactly. In
// JSON and CSV they are integers in units of 1e-9, as everywhere. A value from the bus's records
// has the same name as in their description.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "lapwing/order_book.h"
#include "lapwing/sequence.h"
#include "lapwing/symbols.h"

namespace lapwing {

class BookFormat {
 public:
  // Symbols come from the metadata of this session of `bus`, or of its newest session if zero.
  explicit BookFormat(std::string bus, const Id128& session_id = {})
      : bus_(std::move(bus)), session_id_(session_id) {}

  // Several lines, each with its line end. `sequence` is the bus's last record that is in the book.
  // `depth` is the number of levels per side, 0 for all.
  std::string text(const OrderBook& book, Sequence sequence, std::size_t depth);
  // The heading of a list, and one line of it.
  static std::string list_heading(Sequence sequence, std::size_t books);
  std::string list_line(const OrderBook& book);
  // One object, and the same as text without a line end. `with_digest` requires sorting the orders.
  nlohmann::ordered_json object(const OrderBook& book, Sequence sequence, std::size_t depth,
                                bool with_digest);
  std::string json(const OrderBook& book, Sequence sequence, std::size_t depth, bool with_digest);
  // The same as CSV rows, each with its line end. Each level has a row: bids come first, and the
  // best level comes first on each side. A book without levels has one row, with these cells empty.
  static std::string csv_header(bool with_digest);
  std::string csv(const OrderBook& book, Sequence sequence, std::size_t depth, bool with_digest);

  // The instrument's symbol as of the book's newest record; empty: it has none.
  std::string symbol(const OrderBook& book);
  const Symbols& symbols();

 private:
  // The keys of the JSON object without its levels, in its order.
  nlohmann::ordered_json about(const OrderBook& book, Sequence sequence);
  std::string name(const OrderBook& book);
  // Digits after the decimal point.
  int decimals(const OrderBook& book);

  std::string bus_;
  Id128 session_id_;
  std::optional<Symbols> symbols_;
  absl::flat_hash_map<std::uint64_t, int> decimals_;  // by publisher and instrument
};

}  // namespace lapwing
