// Extracts the symbols of a DBN file that was recorded live. They are in mapping records among the
// market records, not in the metadata. This class collects these records and creates mappings for
// the metadata.
//
//   MappingRecords found(metadata.version);
//   for (record : records) found.add(record);
//   metadata.mappings = found.mappings();
//
// A mapping record (rtype 0x16) contains the symbol of the instrument that its header names, in
// stype_out_symbol, or in stype_in_symbol if the former is the number itself. The subscribed symbol
// is not used, because it may cover several instruments (ES.FUT).
//
// A mapping is valid from start_ts. Without start_ts it is valid from the record's ts_event if it
// replaces another mapping, otherwise from 1970. It ends at end_ts, or at the next mapping for the
// same symbol or instrument. Metadata contains only dates: if a day has several mappings, the last
// one is valid for the whole day. A repeated mapping changes nothing.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/dbn/dbn_metadata.h"

namespace lapwing::dbn {

inline constexpr std::size_t kMappingRecordBytesV1 = 80;
inline constexpr std::size_t kMappingRecordBytes = 176;  // versions 2 and 3

// True if a record is about the stream and not the market: a mapping record, an error record, or a
// system record (heartbeats).
bool is_control_record(std::span<const std::byte> record);

class MappingRecords {
 public:
  // `version` is the DBN version of the metadata.
  explicit MappingRecords(std::uint8_t version)
      : symbol_bytes_(version == 1 ? kSymbolBytesV1 : kSymbolBytes) {}

  // Adds a mapping record of any version. Ignores other records, and mapping records without a
  // symbol or with one that the metadata cannot contain (too long, or not ASCII).
  void add(std::span<const std::byte> record);

  bool empty() const { return intervals_.empty(); }
  // For metadata whose stype_in is kRawSymbol and stype_out kInstrumentId.
  std::vector<SymbolMapping> mappings() const;

 private:
  struct Interval {
    std::string symbol;
    std::uint32_t instrument_id = 0;
    std::uint32_t start_date = 0;  // YYYYMMDD, UTC
    std::uint32_t end_date = 0;    // exclusive
  };
  struct Message;
  void take(const Message& message, std::string symbol);

  std::size_t symbol_bytes_;
  std::vector<Interval> intervals_;  // in the order of add()
  // The newest interval of each instrument and symbol, as an index of intervals_.
  absl::flat_hash_map<std::uint32_t, std::size_t> by_id_;
  absl::flat_hash_map<std::string, std::size_t> by_symbol_;
};

}  // namespace lapwing::dbn
