#include "monitor/view/quote_layout.h"

#include <cstring>
#include <utility>

#include "lapwing/dbn.h"

namespace lapwing {
namespace {

template <typename Value>
Value value_at(std::span<const std::byte> record, const Field* field) {
  Value value{};
  std::memcpy(&value, record.data() + field->offset, sizeof value);
  return value;
}

QuoteSide side_at(std::span<const std::byte> record, const Field* price, const Field* size) {
  return {value_at<std::int64_t>(record, price), value_at<std::uint32_t>(record, size)};
}

}  // namespace

// Moving a vector does not move its elements, so the fields' addresses stay valid.
std::optional<QuoteLayout> QuoteLayout::of(const Schema& schema) {
  QuoteLayout layout(schema);
  const auto find = [&](const char* name, FieldType type) -> const Field* {
    const Field* const field = layout.schema_.find(name);
    return field != nullptr && field->type == type ? field : nullptr;
  };
  layout.instrument_id_ = find("instrument_id", FieldType::kUInt32);
  layout.publisher_id_ = find("publisher_id", FieldType::kUInt16);
  layout.time_ = find("ts_recv", FieldType::kUInt64);
  if (layout.instrument_id_ == nullptr || layout.publisher_id_ == nullptr) return std::nullopt;
  layout.bid_price_ = find("bid_px_00", FieldType::kInt64);
  layout.ask_price_ = find("ask_px_00", FieldType::kInt64);
  layout.bid_size_ = find("bid_sz_00", FieldType::kUInt32);
  layout.ask_size_ = find("ask_sz_00", FieldType::kUInt32);
  layout.price_ = find("price", FieldType::kInt64);
  layout.size_ = find("size", FieldType::kUInt32);
  layout.action_ = layout.schema_.find("action");
  layout.side_ = layout.schema_.find("side");
  const bool has_quotes = layout.bid_price_ != nullptr && layout.ask_price_ != nullptr &&
                          layout.bid_size_ != nullptr && layout.ask_size_ != nullptr;
  if (!has_quotes) layout.bid_price_ = nullptr;
  if (layout.price_ == nullptr || layout.size_ == nullptr) layout.price_ = nullptr;
  const bool has_trades = layout.price_ != nullptr && layout.action_ != nullptr;
  if (!has_quotes && !has_trades) return std::nullopt;
  return layout;
}

std::uint32_t QuoteLayout::instrument_id(std::span<const std::byte> record) const {
  return value_at<std::uint32_t>(record, instrument_id_);
}

std::uint16_t QuoteLayout::publisher_id(std::span<const std::byte> record) const {
  return value_at<std::uint16_t>(record, publisher_id_);
}

std::uint64_t QuoteLayout::time_ns(std::span<const std::byte> record) const {
  return time_ == nullptr ? 0 : value_at<std::uint64_t>(record, time_);
}

QuoteSide QuoteLayout::bid(std::span<const std::byte> record) const {
  return side_at(record, bid_price_, bid_size_);
}

QuoteSide QuoteLayout::ask(std::span<const std::byte> record) const {
  return side_at(record, ask_price_, ask_size_);
}

// Records without an action, such as those of DBN's bbo schemas, repeat the last trade.
std::optional<QuoteSide> QuoteLayout::trade(std::span<const std::byte> record) const {
  if (price_ == nullptr) return std::nullopt;
  if (action_ != nullptr && value_at<dbn::Action>(record, action_) != dbn::Action::kTrade) {
    return std::nullopt;
  }
  const QuoteSide trade = side_at(record, price_, size_);
  return trade.price == dbn::kUndefPrice ? std::nullopt : std::optional(trade);
}

char QuoteLayout::trade_side(std::span<const std::byte> record) const {
  if (side_ == nullptr) return static_cast<char>(dbn::Side::kNone);
  const auto side = value_at<dbn::Side>(record, side_);
  const bool is_known = side == dbn::Side::kAsk || side == dbn::Side::kBid;
  return static_cast<char>(is_known ? side : dbn::Side::kNone);
}

}  // namespace lapwing
