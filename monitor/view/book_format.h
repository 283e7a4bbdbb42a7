// How an order book looks: as a trader reads it, as a line of a list, as JSON, as rows of CSV.
//
// Prices are text in as few decimals as show every price of the book so far exactly; in JSON and
// CSV they are integers in units of 1e-9, as everywhere. A value that the bus's records have has the
// name that their description gives it.
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
  // Symbols come from the metadata of that session of `bus`; zero: of its newest session.
  explicit BookFormat(std::string bus, const Id128& session_id = {})
      : bus_(std::move(bus)), session_id_(session_id) {}

  // Lines, each with its end. `sequence` is the last record of the bus that is in the book, `depth`
  // how many levels of each side, 0 for all.
  std::string text(const OrderBook& book, Sequence sequence, std::size_t depth);
  // The heading of a list, and one line of it.
  static std::string list_heading(Sequence sequence, std::size_t books);
  std::string list_line(const OrderBook& book);
  // One object, and the same without a line's end. `with_digest` costs a sort of the orders.
  nlohmann::ordered_json object(const OrderBook& book, Sequence sequence, std::size_t depth,
                                bool with_digest);
  std::string json(const OrderBook& book, Sequence sequence, std::size_t depth, bool with_digest);
  // The same as rows, each with its end: one for each level, first the bids, of each side the best
  // first; for a book without levels one that is empty there.
  static std::string csv_header(bool with_digest);
  std::string csv(const OrderBook& book, Sequence sequence, std::size_t depth, bool with_digest);

  // The instrument's at the book's newest record; empty: it has none.
  std::string symbol(const OrderBook& book);
  const Symbols& symbols();

 private:
  // What JSON says besides the levels, in its order.
  nlohmann::ordered_json about(const OrderBook& book, Sequence sequence);
  std::string name(const OrderBook& book);
  // Digits behind the point.
  int decimals(const OrderBook& book);

  std::string bus_;
  Id128 session_id_;
  std::optional<Symbols> symbols_;
  absl::flat_hash_map<std::uint64_t, int> decimals_;  // by publisher and instrument
};

}  // namespace lapwing
