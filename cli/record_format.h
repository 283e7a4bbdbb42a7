// How a record looks as text or JSON, by the bus's schema; and where its time and instrument stand.
//
// Thread safety: immutable after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "lapwing/sequence.h"

namespace lapwing::cli {

enum class OutputFormat { kText, kJson, kNone };

// kRecordSize for records that are said to be of a schema which Lapwing ships, and have not the
// size of that one's.
absl::Status check_schema(const std::string& schema, std::uint32_t record_bytes);

class RecordFormat {
 public:
  explicit RecordFormat(const std::string& schema);

  // For a line, without its end, after the record's number or alone. Records of unknown schemas,
  // and those that have not the size of theirs, are shown as hexadecimal bytes.
  std::string text(Sequence n, std::span<const std::byte> record) const;
  std::string text(std::span<const std::byte> record) const;
  nlohmann::ordered_json json(Sequence n, std::span<const std::byte> record) const;

  // ts_recv of a DBN record, UTC ns; nullopt for other schemas or an undefined time.
  std::optional<std::uint64_t> receive_time_ns(std::span<const std::byte> record) const;
  // instrument_id of a DBN record.
  std::optional<std::uint32_t> instrument_id(std::span<const std::byte> record) const;

 private:
  enum class Schema { kBytes, kMbo, kTrades, kMbp1, kKv16 };
  Schema schema_of(std::span<const std::byte> record) const;

  Schema schema_;
  std::uint32_t record_bytes_;  // of that schema; 0: of any size
};

}  // namespace lapwing::cli
