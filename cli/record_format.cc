#include "cli/record_format.h"

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/time_text.h"
#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "lapwing/kv16.h"
#include "proto/shipped_schemas.h"

namespace lapwing::cli {
namespace {

template <typename Record>
Record as(std::span<const std::byte> bytes) {
  Record record;
  std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

std::string price_text(std::int64_t price) {
  if (price == dbn::kUndefPrice) return "-";
  const std::uint64_t magnitude = price < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(price)
                                            : static_cast<std::uint64_t>(price);
  constexpr auto kScale = static_cast<std::uint64_t>(dbn::kPriceScale);
  return absl::StrFormat("%s%d.%09d", price < 0 ? "-" : "", magnitude / kScale, magnitude % kScale);
}

// What is no letter is shown as an escape: whoever publishes may write anything.
std::string letter(char byte) {
  if (absl::ascii_isprint(static_cast<unsigned char>(byte))) return std::string(1, byte);
  return absl::CHexEscape(absl::string_view(&byte, 1));
}
std::string letter(dbn::Action action) {
  return letter(static_cast<char>(action));
}
std::string letter(dbn::Side side) {
  return letter(static_cast<char>(side));
}

std::string hex_text(std::span<const std::byte> record) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(record.data()), record.size()));
}

// The fields that every DBN record with an action has.
template <typename Record>
nlohmann::ordered_json dbn_json(Sequence n, const Record& record) {
  return {{"seq", n},
          {"ts_event", record.hd.ts_event},
          {"ts_recv", record.ts_recv},
          {"publisher_id", record.hd.publisher_id},
          {"instrument_id", record.hd.instrument_id},
          {"action", letter(record.action)},
          {"side", letter(record.side)},
          {"price", record.price},
          {"size", record.size},
          {"flags", record.flags},
          {"ts_in_delta", record.ts_in_delta},
          {"sequence", record.sequence}};
}

template <typename Record>
std::string dbn_text(const Record& record) {
  const std::string time = record.ts_recv == dbn::kUndefTimestamp ? "-" : time_text(record.ts_recv);
  return absl::StrFormat("%s  %8d  %s %s  %18s x %-8d", time, record.hd.instrument_id,
                         letter(record.action), letter(record.side), price_text(record.price),
                         record.size);
}

}  // namespace

absl::Status check_schema(const std::string& schema, std::uint32_t record_bytes) {
  if (schema_fits(schema, record_bytes)) return absl::OkStatus();
  return make_error(Errc::kRecordSize,
                    absl::StrCat("the bus calls its records of ", record_bytes, " bytes ", schema,
                                 ", whose records have ", shipped_record_bytes(schema),
                                 ": its publisher has to name another schema; `lapwing tail` shows "
                                 "the bytes"));
}

RecordFormat::RecordFormat(const std::string& schema)
    : schema_(Schema::kBytes), record_bytes_(shipped_record_bytes(schema)) {
  if (schema == dbn::kSchemaMbo) schema_ = Schema::kMbo;
  if (schema == dbn::kSchemaTrades) schema_ = Schema::kTrades;
  if (schema == dbn::kSchemaMbp1) schema_ = Schema::kMbp1;
  if (schema == kv16::kSchema) schema_ = Schema::kKv16;
}

RecordFormat::Schema RecordFormat::schema_of(std::span<const std::byte> record) const {
  return record.size() == record_bytes_ ? schema_ : Schema::kBytes;
}

std::string RecordFormat::text(Sequence n, std::span<const std::byte> record) const {
  return absl::StrFormat("%12d  %s", n, text(record));
}

std::string RecordFormat::text(std::span<const std::byte> record) const {
  switch (schema_of(record)) {
    case Schema::kMbo: {
      const auto mbo = as<dbn::MboMsg>(record);
      return absl::StrCat(dbn_text(mbo), "  order ", mbo.order_id);
    }
    case Schema::kTrades:
      return dbn_text(as<dbn::TradeMsg>(record));
    case Schema::kMbp1: {
      const auto mbp = as<dbn::Mbp1Msg>(record);
      return absl::StrCat(dbn_text(mbp), "  ", mbp.level.bid_sz, " x ",
                          price_text(mbp.level.bid_px), " / ", price_text(mbp.level.ask_px), " x ",
                          mbp.level.ask_sz);
    }
    case Schema::kKv16: {
      const auto pair = as<kv16::Record>(record);
      return absl::StrCat(pair.key, " = ", pair.value);
    }
    case Schema::kBytes:
      break;
  }
  return hex_text(record);
}

nlohmann::ordered_json RecordFormat::json(Sequence n, std::span<const std::byte> record) const {
  switch (schema_of(record)) {
    case Schema::kMbo: {
      const auto mbo = as<dbn::MboMsg>(record);
      nlohmann::ordered_json line = dbn_json(n, mbo);
      line["order_id"] = mbo.order_id;
      line["channel_id"] = mbo.channel_id;
      return line;
    }
    case Schema::kTrades:
      return dbn_json(n, as<dbn::TradeMsg>(record));
    case Schema::kMbp1: {
      const auto mbp = as<dbn::Mbp1Msg>(record);
      nlohmann::ordered_json line = dbn_json(n, mbp);
      line["bid_px"] = mbp.level.bid_px;
      line["ask_px"] = mbp.level.ask_px;
      line["bid_sz"] = mbp.level.bid_sz;
      line["ask_sz"] = mbp.level.ask_sz;
      line["bid_ct"] = mbp.level.bid_ct;
      line["ask_ct"] = mbp.level.ask_ct;
      return line;
    }
    case Schema::kKv16: {
      const auto pair = as<kv16::Record>(record);
      return nlohmann::ordered_json{{"seq", n}, {"key", pair.key}, {"value", pair.value}};
    }
    case Schema::kBytes:
      break;
  }
  return nlohmann::ordered_json{{"seq", n}, {"bytes", hex_text(record)}};
}

std::optional<std::uint64_t> RecordFormat::receive_time_ns(
    std::span<const std::byte> record) const {
  const Schema schema = schema_of(record);
  std::uint64_t time = dbn::kUndefTimestamp;
  if (schema == Schema::kMbo) time = as<dbn::MboMsg>(record).ts_recv;
  if (schema == Schema::kTrades) time = as<dbn::TradeMsg>(record).ts_recv;
  if (schema == Schema::kMbp1) time = as<dbn::Mbp1Msg>(record).ts_recv;
  if (time == dbn::kUndefTimestamp) return std::nullopt;
  return time;
}

std::optional<std::uint32_t> RecordFormat::instrument_id(std::span<const std::byte> record) const {
  const Schema schema = schema_of(record);
  if (schema == Schema::kBytes || schema == Schema::kKv16) return std::nullopt;
  return as<dbn::RecordHeader>(record).instrument_id;
}

}  // namespace lapwing::cli
