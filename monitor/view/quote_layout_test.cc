#include "monitor/view/quote_layout.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/dbn.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

std::span<const std::byte> bytes_of(const auto& record) {
  return std::as_bytes(std::span(&record, 1));
}

dbn::Mbp1Msg quote_of(std::uint32_t instrument_id) {
  dbn::Mbp1Msg record{};
  record.hd = {sizeof record / dbn::kLengthUnit, dbn::RType::kMbp1, 2, instrument_id, 1};
  record.price = 5;
  record.size = 6;
  record.action = dbn::Action::kAdd;
  record.side = dbn::Side::kBid;
  record.ts_recv = 99;
  record.level = {.bid_px = 10, .ask_px = 11, .bid_sz = 3, .ask_sz = 4, .bid_ct = 1, .ask_ct = 1};
  return record;
}

std::vector<std::string> shipped_schemas_with(bool (*has)(const QuoteLayout&)) {
  std::vector<std::string> names;
  for (const std::string_view name : known_schema_names()) {
    const std::optional<QuoteLayout> layout = QuoteLayout::of(*known_schema(name));
    if (layout && has(*layout)) names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

TEST_CASE("Of the shipped schemas those with a best bid and ask have quotes") {
  CHECK(shipped_schemas_with([](const QuoteLayout& layout) { return layout.has_quotes(); }) ==
        std::vector<std::string>{"dbn.bbo-1m", "dbn.bbo-1s", "dbn.cbbo-1m", "dbn.cbbo-1s",
                                 "dbn.cmbp-1", "dbn.mbp-1", "dbn.mbp-10", "dbn.tbbo", "dbn.tcbbo"});
  // Bars, definitions, statistics and the like have neither quotes nor trades.
  CHECK(shipped_schemas_with([](const QuoteLayout& layout) { return !layout.has_quotes(); }) ==
        std::vector<std::string>{"dbn.mbo", "dbn.trades"});
}

TEST_CASE("A quote's values are those of the record, at any address") {
  const QuoteLayout layout = *QuoteLayout::of(*known_schema(dbn::kSchemaMbp1));
  const dbn::Mbp1Msg record = quote_of(7);
  std::vector<std::byte> odd(1 + sizeof record);
  std::ranges::copy(bytes_of(record), odd.begin() + 1);
  for (const auto bytes : {bytes_of(record), std::span<const std::byte>(odd).subspan(1)}) {
    CHECK(layout.instrument_id(bytes) == 7);
    CHECK(layout.publisher_id(bytes) == 2);
    CHECK(layout.time_ns(bytes) == 99);
    CHECK(layout.bid(bytes).price == 10);
    CHECK(layout.bid(bytes).size == 3);
    CHECK(layout.ask(bytes).price == 11);
    CHECK(layout.ask(bytes).size == 4);
  }
}

TEST_CASE("Only a record whose action is a trade has one") {
  const QuoteLayout layout = *QuoteLayout::of(*known_schema(dbn::kSchemaMbp1));
  dbn::Mbp1Msg record = quote_of(7);
  for (const dbn::Action action : {dbn::Action::kAdd, dbn::Action::kCancel, dbn::Action::kModify,
                                   dbn::Action::kClear, dbn::Action::kFill}) {
    record.action = action;
    CHECK_FALSE(layout.trade(bytes_of(record)).has_value());
  }
  record.action = dbn::Action::kTrade;
  REQUIRE(layout.trade(bytes_of(record)).has_value());
  CHECK(layout.trade(bytes_of(record))->price == 5);
  CHECK(layout.trade(bytes_of(record))->size == 6);
  CHECK(layout.trade_side(bytes_of(record)) == 'B');
  record.side = static_cast<dbn::Side>(0x1b);  // a side that no page can show
  CHECK(layout.trade_side(bytes_of(record)) == 'N');
  record.price = dbn::kUndefPrice;
  CHECK_FALSE(layout.trade(bytes_of(record)).has_value());
}

TEST_CASE("A record without an action repeats the last trade") {
  const Schema schema = *known_schema("dbn.bbo-1s");
  const QuoteLayout layout = *QuoteLayout::of(schema);
  std::vector<std::byte> record(schema.record_bytes);
  const std::int64_t price = 5;
  std::memcpy(record.data() + schema.find("price")->offset, &price, sizeof price);
  REQUIRE(layout.trade(record).has_value());
  CHECK(layout.trade(record)->price == 5);
  std::memcpy(record.data() + schema.find("price")->offset, &dbn::kUndefPrice, sizeof price);
  CHECK_FALSE(layout.trade(record).has_value());
}

TEST_CASE("Fields of these names and other types make no quote") {
  const Schema shipped = *known_schema(dbn::kSchemaMbp1);
  const auto with_type = [&](std::string_view name, FieldType type) {
    Schema schema = shipped;
    std::ranges::find(schema.fields, name, &Field::name)->type = type;
    return QuoteLayout::of(schema);
  };
  CHECK_FALSE(with_type("instrument_id", FieldType::kInt32).has_value());
  CHECK_FALSE(with_type("publisher_id", FieldType::kInt16).has_value());
  for (const std::string_view name : {"bid_px_00", "ask_px_00"}) {
    const auto layout = with_type(name, FieldType::kFloat64);
    REQUIRE(layout.has_value());  // it still has trades
    CHECK_FALSE(layout->has_quotes());
  }
  const auto no_trades = with_type("price", FieldType::kFloat64);
  REQUIRE(no_trades.has_value());
  dbn::Mbp1Msg record = quote_of(7);
  record.action = dbn::Action::kTrade;
  CHECK_FALSE(no_trades->trade(bytes_of(record)).has_value());
  CHECK(with_type("ts_recv", FieldType::kInt64)->time_ns(bytes_of(record)) == 0);
}

}  // namespace
}  // namespace lapwing
