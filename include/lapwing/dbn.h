// The records of Databento's public binary encoding (DBN) that Lapwing ships, as documented by
// Databento. Types and constants only.
//
// Prices are signed 64-bit in units of 1e-9; times are UTC nanoseconds, unsigned 64-bit.
//
// Source: the DBN documentation (standards and conventions, and the schemas mbo, trades, mbp-1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace lapwing::dbn {

inline constexpr std::int64_t kPriceScale = 1'000'000'000;  // units per 1.0
inline constexpr std::int64_t kUndefPrice = std::numeric_limits<std::int64_t>::max();
inline constexpr std::uint64_t kUndefTimestamp = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint32_t kLengthUnit = 4;  // bytes per unit of RecordHeader::length

enum class RType : std::uint8_t {
  kTrade = 0x00,  // MBP-0
  kMbp1 = 0x01,   // and tbbo
  kMbp10 = 0x0a,
  kStatus = 0x12,
  kDefinition = 0x13,
  kImbalance = 0x14,
  kStatistics = 0x18,
  kOhlcv1s = 0x20,
  kOhlcv1m = 0x21,
  kOhlcv1h = 0x22,
  kOhlcv1d = 0x23,
  kOhlcvEod = 0x24,
  kMbo = 0xa0,
  kCmbp1 = 0xb1,
  kCbbo1s = 0xc0,
  kCbbo1m = 0xc1,
  kTcbbo = 0xc2,
  kBbo1s = 0xc3,
  kBbo1m = 0xc4,
};

// Flag bits of MboMsg, TradeMsg and Mbp1Msg.
inline constexpr std::uint8_t kFlagLast = 0x80;      // last record of one venue event
inline constexpr std::uint8_t kFlagTop = 0x40;       // top-of-book record
inline constexpr std::uint8_t kFlagSnapshot = 0x20;  // from a replay or snapshot
inline constexpr std::uint8_t kFlagMbp = 0x10;       // aggregated price level
inline constexpr std::uint8_t kFlagBadTsRecv = 0x08;
inline constexpr std::uint8_t kFlagMaybeBadBook = 0x04;

enum class Action : char {
  kAdd = 'A',
  kModify = 'M',
  kCancel = 'C',
  kClear = 'R',
  kTrade = 'T',
  kFill = 'F',
  kNone = 'N',
};

enum class Side : char { kAsk = 'A', kBid = 'B', kNone = 'N' };

struct RecordHeader {
  std::uint8_t length;  // of the whole record, in units of kLengthUnit
  RType rtype;
  std::uint16_t publisher_id;
  std::uint32_t instrument_id;
  std::uint64_t ts_event;
};
static_assert(sizeof(RecordHeader) == 16);
static_assert(offsetof(RecordHeader, rtype) == 1);
static_assert(offsetof(RecordHeader, publisher_id) == 2);
static_assert(offsetof(RecordHeader, instrument_id) == 4);
static_assert(offsetof(RecordHeader, ts_event) == 8);

struct MboMsg {
  RecordHeader hd;
  std::uint64_t order_id;
  std::int64_t price;
  std::uint32_t size;
  std::uint8_t flags;
  std::uint8_t channel_id;
  Action action;
  Side side;
  std::uint64_t ts_recv;
  std::int32_t ts_in_delta;  // ns from the venue's send to ts_recv
  std::uint32_t sequence;    // the venue's, not the bus's
};
static_assert(sizeof(MboMsg) == 56);
static_assert(offsetof(MboMsg, order_id) == 16);
static_assert(offsetof(MboMsg, price) == 24);
static_assert(offsetof(MboMsg, size) == 32);
static_assert(offsetof(MboMsg, flags) == 36);
static_assert(offsetof(MboMsg, channel_id) == 37);
static_assert(offsetof(MboMsg, action) == 38);
static_assert(offsetof(MboMsg, side) == 39);
static_assert(offsetof(MboMsg, ts_recv) == 40);
static_assert(offsetof(MboMsg, ts_in_delta) == 48);
static_assert(offsetof(MboMsg, sequence) == 52);

struct TradeMsg {
  RecordHeader hd;
  std::int64_t price;
  std::uint32_t size;
  Action action;
  Side side;
  std::uint8_t flags;
  std::uint8_t depth;
  std::uint64_t ts_recv;
  std::int32_t ts_in_delta;
  std::uint32_t sequence;
};
static_assert(sizeof(TradeMsg) == 48);
static_assert(offsetof(TradeMsg, price) == 16);
static_assert(offsetof(TradeMsg, size) == 24);
static_assert(offsetof(TradeMsg, action) == 28);
static_assert(offsetof(TradeMsg, side) == 29);
static_assert(offsetof(TradeMsg, flags) == 30);
static_assert(offsetof(TradeMsg, depth) == 31);
static_assert(offsetof(TradeMsg, ts_recv) == 32);
static_assert(offsetof(TradeMsg, ts_in_delta) == 40);
static_assert(offsetof(TradeMsg, sequence) == 44);

struct BidAskPair {
  std::int64_t bid_px;
  std::int64_t ask_px;
  std::uint32_t bid_sz;
  std::uint32_t ask_sz;
  std::uint32_t bid_ct;
  std::uint32_t ask_ct;
};
static_assert(sizeof(BidAskPair) == 32);
static_assert(offsetof(BidAskPair, ask_px) == 8);
static_assert(offsetof(BidAskPair, bid_sz) == 16);
static_assert(offsetof(BidAskPair, ask_sz) == 20);
static_assert(offsetof(BidAskPair, bid_ct) == 24);
static_assert(offsetof(BidAskPair, ask_ct) == 28);

struct Mbp1Msg {
  RecordHeader hd;
  std::int64_t price;
  std::uint32_t size;
  Action action;
  Side side;
  std::uint8_t flags;
  std::uint8_t depth;
  std::uint64_t ts_recv;
  std::int32_t ts_in_delta;
  std::uint32_t sequence;
  BidAskPair level;
};
static_assert(sizeof(Mbp1Msg) == 80);
static_assert(offsetof(Mbp1Msg, price) == 16);
static_assert(offsetof(Mbp1Msg, size) == 24);
static_assert(offsetof(Mbp1Msg, action) == 28);
static_assert(offsetof(Mbp1Msg, side) == 29);
static_assert(offsetof(Mbp1Msg, flags) == 30);
static_assert(offsetof(Mbp1Msg, depth) == 31);
static_assert(offsetof(Mbp1Msg, ts_recv) == 32);
static_assert(offsetof(Mbp1Msg, ts_in_delta) == 40);
static_assert(offsetof(Mbp1Msg, sequence) == 44);
static_assert(offsetof(Mbp1Msg, level) == 48);

// Names for PublisherOptions::schema.
inline constexpr char kSchemaMbo[] = "dbn.mbo";
inline constexpr char kSchemaTrades[] = "dbn.trades";
inline constexpr char kSchemaMbp1[] = "dbn.mbp-1";

// The schema field of DBN metadata, and the value for a mix of schemas.
enum class SchemaId : std::uint16_t {
  kMbo = 0,
  kMbp1 = 1,
  kMbp10 = 2,
  kTbbo = 3,
  kTrades = 4,
  kOhlcv1s = 5,
  kOhlcv1m = 6,
  kOhlcv1h = 7,
  kOhlcv1d = 8,
  kDefinition = 9,
  kStatistics = 10,
  kStatus = 11,
  kImbalance = 12,
  kOhlcvEod = 13,
  kCmbp1 = 14,
  kCbbo1s = 15,
  kCbbo1m = 16,
  kTcbbo = 17,
  kBbo1s = 18,
  kBbo1m = 19,
  kMixed = 0xffff,
};

// A DBN schema: its name on a bus, its id in metadata and its record type. Sizes and fields are in
// its description, which depends on the DBN version (docs/reference/records.md).
struct RecordSchema {
  const char* name;
  SchemaId id;
  RType rtype;
};

inline constexpr RecordSchema kRecordSchemas[] = {
    {kSchemaMbo, SchemaId::kMbo, RType::kMbo},
    {kSchemaMbp1, SchemaId::kMbp1, RType::kMbp1},
    {"dbn.mbp-10", SchemaId::kMbp10, RType::kMbp10},
    {"dbn.tbbo", SchemaId::kTbbo, RType::kMbp1},
    {kSchemaTrades, SchemaId::kTrades, RType::kTrade},
    {"dbn.ohlcv-1s", SchemaId::kOhlcv1s, RType::kOhlcv1s},
    {"dbn.ohlcv-1m", SchemaId::kOhlcv1m, RType::kOhlcv1m},
    {"dbn.ohlcv-1h", SchemaId::kOhlcv1h, RType::kOhlcv1h},
    {"dbn.ohlcv-1d", SchemaId::kOhlcv1d, RType::kOhlcv1d},
    {"dbn.definition", SchemaId::kDefinition, RType::kDefinition},
    {"dbn.statistics", SchemaId::kStatistics, RType::kStatistics},
    {"dbn.status", SchemaId::kStatus, RType::kStatus},
    {"dbn.imbalance", SchemaId::kImbalance, RType::kImbalance},
    {"dbn.ohlcv-eod", SchemaId::kOhlcvEod, RType::kOhlcvEod},
    {"dbn.cmbp-1", SchemaId::kCmbp1, RType::kCmbp1},
    {"dbn.cbbo-1s", SchemaId::kCbbo1s, RType::kCbbo1s},
    {"dbn.cbbo-1m", SchemaId::kCbbo1m, RType::kCbbo1m},
    {"dbn.tcbbo", SchemaId::kTcbbo, RType::kTcbbo},
    {"dbn.bbo-1s", SchemaId::kBbo1s, RType::kBbo1s},
    {"dbn.bbo-1m", SchemaId::kBbo1m, RType::kBbo1m},
};

// Returns the schema with that bus name, metadata id or record type, or nullptr if there is none.
// mbp-1 and tbbo have the same record type, for which find_schema(RType) returns mbp-1.
constexpr const RecordSchema* find_schema(std::string_view name) {
  for (const RecordSchema& schema : kRecordSchemas) {
    if (name == schema.name) return &schema;
  }
  return nullptr;
}
constexpr const RecordSchema* find_schema(SchemaId id) {
  for (const RecordSchema& schema : kRecordSchemas) {
    if (id == schema.id) return &schema;
  }
  return nullptr;
}
constexpr const RecordSchema* find_schema(RType rtype) {
  for (const RecordSchema& schema : kRecordSchemas) {
    if (rtype == schema.rtype) return &schema;
  }
  return nullptr;
}

}  // namespace lapwing::dbn
