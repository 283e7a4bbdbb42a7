// The record fields that form a quote (best bid and ask) or a trade, identified by DBN's field
// names.
//
// Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lapwing/schema.h"

namespace lapwing {

struct QuoteSide {
  std::int64_t price = 0;  // 1e-9; dbn::kUndefPrice: none
  std::uint32_t size = 0;
};

class QuoteLayout {
 public:
  // nullopt if the records have no instrument, or neither quotes nor trades.
  static std::optional<QuoteLayout> of(const Schema& schema);

  bool has_quotes() const { return bid_price_ != nullptr; }
  std::uint32_t instrument_id(std::span<const std::byte> record) const;
  std::uint16_t publisher_id(std::span<const std::byte> record) const;
  std::uint64_t time_ns(std::span<const std::byte> record) const;  // to look up the symbol
  QuoteSide bid(std::span<const std::byte> record) const;          // requires has_quotes()
  QuoteSide ask(std::span<const std::byte> record) const;
  // nullopt: the record is not a trade.
  std::optional<QuoteSide> trade(std::span<const std::byte> record) const;
  char trade_side(std::span<const std::byte> record) const;  // 'A', 'B' or 'N'

 private:
  explicit QuoteLayout(Schema schema) : schema_(std::move(schema)) {}

  Schema schema_;  // owns the fields below
  const Field* instrument_id_ = nullptr;
  const Field* publisher_id_ = nullptr;
  const Field* time_ = nullptr;
  const Field* bid_price_ = nullptr;
  const Field* bid_size_ = nullptr;
  const Field* ask_price_ = nullptr;
  const Field* ask_size_ = nullptr;
  const Field* price_ = nullptr;
  const Field* size_ = nullptr;
  const Field* action_ = nullptr;
  const Field* side_ = nullptr;
};

}  // namespace lapwing
