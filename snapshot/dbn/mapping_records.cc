#include "snapshot/dbn/mapping_records.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lapwing::dbn {
namespace {

constexpr std::uint8_t kRTypeError = 0x15;
constexpr std::uint8_t kRTypeSymbolMapping = 0x16;
constexpr std::uint8_t kRTypeSystem = 0x17;

constexpr std::uint64_t kDayNs = 86'400'000'000'000;
constexpr std::uint32_t kFirstDate = 19700101;
constexpr std::uint32_t kNoEndDate = 99991231;

struct MappingMsgV1 {
  RecordHeader hd;
  char stype_in_symbol[kSymbolBytesV1];
  char stype_out_symbol[kSymbolBytesV1];
  char reserved[4];
  std::uint64_t start_ts;
  std::uint64_t end_ts;
};
static_assert(sizeof(MappingMsgV1) == kMappingRecordBytesV1);
static_assert(offsetof(MappingMsgV1, stype_out_symbol) == 38);
static_assert(offsetof(MappingMsgV1, start_ts) == 64);

struct MappingMsg {
  RecordHeader hd;
  SType stype_in;
  char stype_in_symbol[kSymbolBytes];
  SType stype_out;
  char stype_out_symbol[kSymbolBytes];
  std::uint64_t start_ts;
  std::uint64_t end_ts;
};
static_assert(sizeof(MappingMsg) == kMappingRecordBytes);
static_assert(offsetof(MappingMsg, stype_in_symbol) == 17);
static_assert(offsetof(MappingMsg, stype_out) == 88);
static_assert(offsetof(MappingMsg, stype_out_symbol) == 89);
static_assert(offsetof(MappingMsg, start_ts) == 160);

std::uint8_t type_of(std::span<const std::byte> record) {
  return static_cast<std::uint8_t>(record[offsetof(RecordHeader, rtype)]);
}

template <std::size_t kBytes>
std::string text_of(const char (&field)[kBytes]) {
  return std::string(field, strnlen(field, kBytes));
}

bool is_ascii(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Returns the UTC date of `utc_ns`.
std::uint32_t date_of(std::uint64_t utc_ns) {
  using namespace std::chrono;
  const days since_epoch(static_cast<std::int64_t>(utc_ns / kDayNs));
  const year_month_day date{sys_days(since_epoch)};
  return static_cast<std::uint32_t>(static_cast<int>(date.year())) * 10'000 +
         static_cast<unsigned>(date.month()) * 100 + static_cast<unsigned>(date.day());
}

// Returns the first date that begins at or after `utc_ns`.
std::uint32_t date_of_end(std::uint64_t utc_ns) {
  return date_of(utc_ns - utc_ns % kDayNs + (utc_ns % kDayNs == 0 ? 0 : kDayNs));
}

}  // namespace

// The fields that all versions share.
struct MappingRecords::Message {
  RecordHeader hd = {};
  std::string in;
  std::string out;
  bool out_is_number = false;
  std::uint64_t start_ts = kUndefTimestamp;
  std::uint64_t end_ts = kUndefTimestamp;

  // Returns false if `record` is not a mapping record.
  bool read(std::span<const std::byte> record);
  std::string symbol() const {
    return out_is_number || out == absl::StrCat(hd.instrument_id) ? in : out;
  }

 private:
  template <typename Layout>
  void take(const Layout& layout) {
    hd = layout.hd;
    in = text_of(layout.stype_in_symbol);
    out = text_of(layout.stype_out_symbol);
    start_ts = layout.start_ts;
    end_ts = layout.end_ts;
  }
};

bool MappingRecords::Message::read(std::span<const std::byte> record) {
  if (record.size() < sizeof(RecordHeader) || type_of(record) != kRTypeSymbolMapping) return false;
  if (record.size() == kMappingRecordBytesV1) {
    MappingMsgV1 layout;
    std::memcpy(&layout, record.data(), sizeof layout);
    take(layout);
    return true;
  }
  if (record.size() != kMappingRecordBytes) return false;
  MappingMsg layout;
  std::memcpy(&layout, record.data(), sizeof layout);
  take(layout);
  out_is_number = layout.stype_out == SType::kInstrumentId;
  return true;
}

bool is_control_record(std::span<const std::byte> record) {
  if (record.size() < sizeof(RecordHeader)) return false;
  const std::uint8_t type = type_of(record);
  return type == kRTypeError || type == kRTypeSymbolMapping || type == kRTypeSystem;
}

void MappingRecords::add(std::span<const std::byte> record) {
  Message message;
  if (!message.read(record)) return;
  std::string symbol = message.symbol();
  if (symbol.empty() || symbol.size() >= symbol_bytes_ || !is_ascii(symbol)) return;
  take(message, std::move(symbol));
}

void MappingRecords::take(const Message& message, std::string symbol) {
  const bool has_start = message.start_ts != kUndefTimestamp;
  const bool has_end = message.end_ts != kUndefTimestamp;
  const std::uint32_t end_date = has_end ? date_of_end(message.end_ts) : kNoEndDate;
  const auto of_id = by_id_.find(message.hd.instrument_id);
  const auto of_symbol = by_symbol_.find(symbol);
  const bool has_id = of_id != by_id_.end();
  const bool has_symbol = of_symbol != by_symbol_.end();
  if (has_id && has_symbol && of_id->second == of_symbol->second) {
    Interval& known = intervals_[of_id->second];
    if (has_start) known.start_date = std::min(known.start_date, date_of(message.start_ts));
    known.end_date = std::max(known.end_date, end_date);
    return;
  }
  const bool replaces = (has_id || has_symbol) && message.hd.ts_event != kUndefTimestamp;
  const std::uint32_t start_date = has_start  ? date_of(message.start_ts)
                                   : replaces ? date_of(message.hd.ts_event)
                                              : kFirstDate;
  for (const std::size_t replaced : {has_id ? of_id->second : intervals_.size(),
                                     has_symbol ? of_symbol->second : intervals_.size()}) {
    if (replaced == intervals_.size()) continue;
    intervals_[replaced].end_date = std::min(intervals_[replaced].end_date, start_date);
  }
  by_id_[message.hd.instrument_id] = intervals_.size();
  by_symbol_[symbol] = intervals_.size();
  intervals_.push_back({std::move(symbol), message.hd.instrument_id, start_date, end_date});
}

std::vector<SymbolMapping> MappingRecords::mappings() const {
  std::map<std::string, std::vector<MappingInterval>> by_symbol;
  for (const Interval& interval : intervals_) {
    if (interval.end_date <= interval.start_date) continue;
    by_symbol[interval.symbol].push_back(
        {interval.start_date, interval.end_date, absl::StrCat(interval.instrument_id)});
  }
  std::vector<SymbolMapping> mappings;
  mappings.reserve(by_symbol.size());
  for (auto& [symbol, intervals] : by_symbol) mappings.push_back({symbol, std::move(intervals)});
  return mappings;
}

}  // namespace lapwing::dbn
