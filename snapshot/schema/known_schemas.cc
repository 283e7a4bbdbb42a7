// Tables of record members in order, one table per record for all versions. DBN records have no
// padding, so an offset is the sum of the sizes before it.
//
// Source: the schemas in the DBN documentation, and DBN's Python package, which the test compares
// with these tables.
#include "snapshot/schema/known_schemas.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "lapwing/kv16.h"
#include "snapshot/schema/field_names.h"

namespace lapwing {
namespace {

constexpr std::uint32_t kDbnVersionMax = 3;

struct Member {
  std::string_view name;
  FieldType type = FieldType::kBytes;
  std::uint32_t bytes = 0;  // of texts and spare bytes
  FieldUnit unit = FieldUnit::kPlain;
  FieldRole role = FieldRole::kData;
  std::span<const NamedValue> values = {};
  // The DBN versions whose records have this member.
  std::uint32_t first_version = 1;
  std::uint32_t last_version = kDbnVersionMax;
};
using Members = std::span<const Member>;

constexpr Member integer(std::string_view name, FieldType type) {
  return {name, type};
}
constexpr Member u8(std::string_view name) {
  return integer(name, FieldType::kUInt8);
}
constexpr Member u16(std::string_view name) {
  return integer(name, FieldType::kUInt16);
}
constexpr Member u32(std::string_view name) {
  return integer(name, FieldType::kUInt32);
}
constexpr Member u64(std::string_view name) {
  return integer(name, FieldType::kUInt64);
}
constexpr Member i8(std::string_view name) {
  return integer(name, FieldType::kInt8);
}
constexpr Member i16(std::string_view name) {
  return integer(name, FieldType::kInt16);
}
constexpr Member i32(std::string_view name) {
  return integer(name, FieldType::kInt32);
}
constexpr Member i64(std::string_view name) {
  return integer(name, FieldType::kInt64);
}
constexpr Member letter(std::string_view name, std::span<const NamedValue> values = {}) {
  return {name, FieldType::kChar, 0, FieldUnit::kPlain, FieldRole::kData, values};
}
constexpr Member text(std::string_view name, std::uint32_t bytes) {
  return {name, FieldType::kText, bytes};
}
constexpr Member price(std::string_view name) {
  return {name, FieldType::kInt64, 0, FieldUnit::kPrice};
}
constexpr Member time_at(std::string_view name, FieldRole role = FieldRole::kData) {
  return {name, FieldType::kUInt64, 0, FieldUnit::kUtcNs, role};
}
constexpr Member key(Member member) {
  member.role = FieldRole::kKey;
  return member;
}
constexpr Member spare(std::string_view name, std::uint32_t bytes) {
  return {name, FieldType::kBytes, bytes, FieldUnit::kPlain, FieldRole::kSpare};
}
constexpr Member from_version(std::uint32_t first_version, Member member) {
  member.first_version = first_version;
  return member;
}
constexpr Member until_version(std::uint32_t last_version, Member member) {
  member.last_version = last_version;
  return member;
}

constexpr NamedValue kActions[] = {{"add", 'A'},   {"modify", 'M'}, {"cancel", 'C'}, {"clear", 'R'},
                                   {"trade", 'T'}, {"fill", 'F'},   {"none", 'N'}};
constexpr NamedValue kSides[] = {{"ask", 'A'}, {"bid", 'B'}, {"none", 'N'}};
constexpr NamedValue kFlagBits[] = {{"last", 0x80},
                                    {"top_of_book", 0x40},
                                    {"snapshot", 0x20},
                                    {"market_by_price", 0x10},
                                    {"bad_ts_recv", 0x08},
                                    {"maybe_bad_book", 0x04},
                                    {"publisher_specific", 0x02}};

constexpr Member kAction = letter("action", kActions);
constexpr Member kSide = letter("side", kSides);
constexpr Member kFlags = {"flags",           FieldType::kUInt8, 0,
                           FieldUnit::kFlags, FieldRole::kData,  kFlagBits};
constexpr Member kTsRecv = time_at("ts_recv", FieldRole::kTime);

constexpr Member kHeader[] = {u8("length"), u8("rtype"), key(u16("publisher_id")),
                              key(u32("instrument_id")), time_at("ts_event")};
constexpr Member kBarHeader[] = {u8("length"), u8("rtype"), key(u16("publisher_id")),
                                 key(u32("instrument_id")), time_at("ts_event", FieldRole::kTime)};

constexpr Member kMbo[] = {u64("order_id"),    price("price"), u32("size"), kFlags,
                           u8("channel_id"),   kAction,        key(kSide),  kTsRecv,
                           i32("ts_in_delta"), u32("sequence")};
constexpr Member kTrade[] = {price("price"), u32("size"), kAction, kSide,
                             kFlags,         u8("depth"), kTsRecv, i32("ts_in_delta"),
                             u32("sequence")};
constexpr Member kConsolidatedTrade[] = {price("price"),
                                         u32("size"),
                                         kAction,
                                         kSide,
                                         kFlags,
                                         spare("_reserved1", 1),
                                         kTsRecv,
                                         i32("ts_in_delta"),
                                         spare("_reserved2", 4)};
constexpr Member kBbo[] = {
    price("price"),         u32("size"), spare("_reserved1", 1), kSide,          kFlags,
    spare("_reserved2", 1), kTsRecv,     spare("_reserved3", 4), u32("sequence")};
constexpr Member kCbbo[] = {
    price("price"),         u32("size"), spare("_reserved1", 1), kSide, kFlags,
    spare("_reserved2", 1), kTsRecv,     spare("_reserved3", 8)};
// The members of each level. The level's number is appended to the name.
constexpr Member kLevel[] = {price("bid_px"), price("ask_px"), u32("bid_sz"),
                             u32("ask_sz"),   u32("bid_ct"),   u32("ask_ct")};
constexpr Member kConsolidatedLevel[] = {
    price("bid_px"), price("ask_px"),        u32("bid_sz"), u32("ask_sz"),
    u16("bid_pb"),   spare("_reserved1", 2), u16("ask_pb"), spare("_reserved2", 2)};
constexpr Member kBar[] = {price("open"), price("high"), price("low"), price("close"),
                           u64("volume")};
constexpr Member kStatus[] = {kTsRecv,
                              u16("action"),
                              u16("reason"),
                              u16("trading_event"),
                              letter("is_trading"),
                              letter("is_quoting"),
                              letter("is_short_sell_restricted"),
                              spare("_reserved", 7)};
constexpr Member kImbalance[] = {kTsRecv,
                                 price("ref_price"),
                                 time_at("auction_time"),
                                 price("cont_book_clr_price"),
                                 price("auct_interest_clr_price"),
                                 price("ssr_filling_price"),
                                 price("ind_match_price"),
                                 price("upper_collar"),
                                 price("lower_collar"),
                                 u32("paired_qty"),
                                 u32("total_imbalance_qty"),
                                 u32("market_imbalance_qty"),
                                 u32("unpaired_qty"),
                                 letter("auction_type"),
                                 letter("side", kSides),
                                 u8("auction_status"),
                                 u8("freeze_status"),
                                 u8("num_extensions"),
                                 letter("unpaired_side", kSides),
                                 letter("significant_imbalance"),
                                 spare("_reserved", 1)};
constexpr Member kStatistics[] = {kTsRecv,
                                  time_at("ts_ref"),
                                  price("price"),
                                  until_version(2, i32("quantity")),
                                  from_version(3, i64("quantity")),
                                  u32("sequence"),
                                  i32("ts_in_delta"),
                                  u16("stat_type"),
                                  u16("channel_id"),
                                  u8("update_action"),
                                  u8("stat_flags"),
                                  until_version(2, spare("_reserved", 6)),
                                  from_version(3, spare("_reserved", 18))};
constexpr Member kDefinition[] = {kTsRecv,
                                  price("min_price_increment"),
                                  price("display_factor"),
                                  time_at("expiration"),
                                  time_at("activation"),
                                  price("high_limit_price"),
                                  price("low_limit_price"),
                                  price("max_price_variation"),
                                  until_version(2, price("trading_reference_price")),
                                  price("unit_of_measure_qty"),
                                  price("min_price_increment_amount"),
                                  price("price_ratio"),
                                  from_version(2, price("strike_price")),
                                  from_version(3, u64("raw_instrument_id")),
                                  from_version(3, price("leg_price")),
                                  from_version(3, price("leg_delta")),
                                  i32("inst_attrib_value"),
                                  u32("underlying_id"),
                                  until_version(2, u32("raw_instrument_id")),
                                  i32("market_depth_implied"),
                                  i32("market_depth"),
                                  u32("market_segment_id"),
                                  u32("max_trade_vol"),
                                  i32("min_lot_size"),
                                  i32("min_lot_size_block"),
                                  i32("min_lot_size_round_lot"),
                                  u32("min_trade_vol"),
                                  until_version(1, spare("_reserved2", 4)),
                                  i32("contract_multiplier"),
                                  i32("decay_quantity"),
                                  i32("original_contract_size"),
                                  until_version(1, spare("_reserved3", 4)),
                                  from_version(3, u32("leg_instrument_id")),
                                  from_version(3, i32("leg_ratio_price_numerator")),
                                  from_version(3, i32("leg_ratio_price_denominator")),
                                  from_version(3, i32("leg_ratio_qty_numerator")),
                                  from_version(3, i32("leg_ratio_qty_denominator")),
                                  from_version(3, u32("leg_underlying_id")),
                                  until_version(2, u16("trading_reference_date")),
                                  i16("appl_id"),
                                  u16("maturity_year"),
                                  u16("decay_start_date"),
                                  u16("channel_id"),
                                  from_version(3, u16("leg_count")),
                                  from_version(3, u16("leg_index")),
                                  text("currency", 4),
                                  text("settl_currency", 4),
                                  text("secsubtype", 6),
                                  until_version(1, text("raw_symbol", 22)),
                                  from_version(2, text("raw_symbol", 71)),
                                  text("group", 21),
                                  text("exchange", 5),
                                  until_version(2, text("asset", 7)),
                                  from_version(3, text("asset", 11)),
                                  text("cfi", 7),
                                  text("security_type", 7),
                                  text("unit_of_measure", 31),
                                  text("underlying", 21),
                                  text("strike_price_currency", 4),
                                  from_version(3, text("leg_raw_symbol", 71)),
                                  letter("instrument_class"),
                                  until_version(1, spare("_reserved4", 2)),
                                  until_version(1, price("strike_price")),
                                  until_version(1, spare("_reserved5", 6)),
                                  letter("match_algorithm"),
                                  until_version(2, u8("md_security_trading_status")),
                                  u8("main_fraction"),
                                  u8("price_display_format"),
                                  until_version(2, u8("settl_price_type")),
                                  u8("sub_fraction"),
                                  u8("underlying_product"),
                                  letter("security_update_action"),
                                  u8("maturity_month"),
                                  u8("maturity_day"),
                                  u8("maturity_week"),
                                  letter("user_defined_instrument"),
                                  i8("contract_multiplier_unit"),
                                  i8("flow_schedule_type"),
                                  u8("tick_rule"),
                                  from_version(3, letter("leg_instrument_class")),
                                  from_version(3, letter("leg_side")),
                                  until_version(1, spare("_dummy", 3)),
                                  from_version(2, until_version(2, spare("_reserved", 10))),
                                  from_version(3, spare("_reserved", 17))};

constexpr Member kPair[] = {key(u64("key")), u64("value")};

// A record consists of a head, a body and `levels` levels.
struct Known {
  std::string_view name;
  std::uint32_t last_version;  // the first version is 1
  Members head;
  Members body;
  Members level = {};
  std::uint32_t levels = 0;
};

constexpr Known of_dbn(std::string_view name, Members body, Members level = {},
                       std::uint32_t levels = 0) {
  return {name, kDbnVersionMax, kHeader, body, level, levels};
}
constexpr Known bars(std::string_view name) {
  return {name, kDbnVersionMax, kBarHeader, kBar};
}

constexpr Known kKnown[] = {
    {kv16::kSchema, 1, {}, kPair},
    of_dbn("dbn.mbo", kMbo),
    of_dbn("dbn.mbp-1", kTrade, kLevel, 1),
    of_dbn("dbn.mbp-10", kTrade, kLevel, 10),
    of_dbn("dbn.tbbo", kTrade, kLevel, 1),
    of_dbn("dbn.trades", kTrade),
    bars("dbn.ohlcv-1s"),
    bars("dbn.ohlcv-1m"),
    bars("dbn.ohlcv-1h"),
    bars("dbn.ohlcv-1d"),
    of_dbn("dbn.definition", kDefinition),
    of_dbn("dbn.statistics", kStatistics),
    of_dbn("dbn.status", kStatus),
    of_dbn("dbn.imbalance", kImbalance),
    bars("dbn.ohlcv-eod"),
    of_dbn("dbn.cmbp-1", kConsolidatedTrade, kConsolidatedLevel, 1),
    of_dbn("dbn.cbbo-1s", kCbbo, kConsolidatedLevel, 1),
    of_dbn("dbn.cbbo-1m", kCbbo, kConsolidatedLevel, 1),
    of_dbn("dbn.tcbbo", kConsolidatedTrade, kConsolidatedLevel, 1),
    of_dbn("dbn.bbo-1s", kBbo, kLevel, 1),
    of_dbn("dbn.bbo-1m", kBbo, kLevel, 1),
};

// Appends the members that exist in schema.version.
void append(Schema& schema, Members members, std::string_view suffix = {}) {
  for (const Member& member : members) {
    if (schema.version < member.first_version || schema.version > member.last_version) continue;
    Field& field = schema.fields.emplace_back();
    field.name = member.name;
    field.name += suffix;
    field.type = member.type;
    field.offset = schema.record_bytes;
    field.bytes = entry_of(kTypeNames, member.type)->bytes;
    if (field.bytes == 0) field.bytes = member.bytes;
    field.unit = member.unit;
    field.role = member.role;
    for (const NamedValue& value : member.values) {
      field.values.push_back({std::string(value.name), value.value});
    }
    schema.record_bytes += field.bytes;
  }
}

}  // namespace

std::vector<std::string_view> known_schema_names() {
  std::vector<std::string_view> names;
  for (const Known& known : kKnown) names.push_back(known.name);
  return names;
}

std::optional<Schema> known_schema(std::string_view name, std::uint32_t version) {
  const Known* const found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                          [&](const Known& known) { return known.name == name; });
  if (found == std::end(kKnown) || version > found->last_version) return std::nullopt;
  Schema schema;
  schema.name = name;
  schema.version = version == 0 ? found->last_version : version;
  append(schema, found->head);
  append(schema, found->body);
  for (std::uint32_t level = 0; level < found->levels; ++level) {
    append(schema, found->level, detail::element_name("", level));
  }
  return schema;
}

std::optional<Schema> known_schema_of_size(std::string_view name, std::uint32_t record_bytes) {
  for (std::uint32_t version = kDbnVersionMax; version > 0; --version) {
    std::optional<Schema> schema = known_schema(name, version);
    if (schema && schema->record_bytes == record_bytes) return schema;
  }
  return std::nullopt;
}

std::string mismatch_with_known(const Schema& description) {
  std::optional<Schema> known = known_schema(description.name);
  if (!known) return {};
  if (std::optional<Schema> same = known_schema(description.name, description.version)) {
    known = std::move(same);
  }
  for (Field& field : known->fields) field.values.clear();
  return mismatch(*known, description);
}

}  // namespace lapwing
