// The metadata at the beginning of every DBN file: what was recorded, for which instruments, and
// when.
//
//   "DBN", version (u8), bytes that follow (u32)
//   dataset (16), schema (u16), start, end, limit (u64 each), [version 1: record count (u64)],
//   stype in, stype out, ts_out (u8 each), [version 2 and 3: symbol field bytes (u16)], reserved
//   length of a schema definition (u32, always 0), then four lists, each with a u32 count:
//   symbols, partial, not found (a symbol field each) and mappings (symbol field, u32 count of
//   intervals: start date, end date (u32, YYYYMMDD), symbol field)
//   [version 3: zeros up to a multiple of 8]
//
// All integers are little-endian. Source: the DBN documentation, metadata; versions 1, 2 and 3.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/dbn.h"

namespace lapwing::dbn {

inline constexpr std::uint8_t kMetadataVersionMax = 3;
inline constexpr std::size_t kPreludeBytes = 8;  // "DBN", version, length
inline constexpr std::size_t kMetadataBytesMax = 64 * 1024 * 1024;
inline constexpr std::uint16_t kSymbolBytesV1 = 22;
inline constexpr std::uint16_t kSymbolBytes = 71;  // versions 2 and 3

// How a symbol names an instrument; only the values that matter here.
enum class SType : std::uint8_t { kInstrumentId = 0, kRawSymbol = 1, kMixed = 255 };

struct MappingInterval {
  std::uint32_t start_date = 0;  // YYYYMMDD, inclusive, UTC
  std::uint32_t end_date = 0;    // exclusive
  std::string symbol;            // of type stype_out

  friend bool operator==(const MappingInterval&, const MappingInterval&) = default;
};

struct SymbolMapping {
  std::string raw_symbol;  // of type stype_in
  std::vector<MappingInterval> intervals;

  friend bool operator==(const SymbolMapping&, const SymbolMapping&) = default;
};

struct Metadata {
  std::uint8_t version = kMetadataVersionMax;
  std::string dataset;
  SchemaId schema = SchemaId::kMixed;
  std::uint64_t start = 0;              // UTC ns
  std::uint64_t end = kUndefTimestamp;  // UTC ns, exclusive
  std::uint64_t limit = 0;              // records, 0: none
  SType stype_in = SType::kRawSymbol;
  SType stype_out = SType::kInstrumentId;
  bool ts_out = false;  // every record is followed by 8 bytes of send time
  std::vector<std::string> symbols;
  std::vector<std::string> partial;
  std::vector<std::string> not_found;
  std::vector<SymbolMapping> mappings;

  friend bool operator==(const Metadata&, const Metadata&) = default;
};

// Returns the size in bytes of the whole metadata, including the prelude, from its first
// kPreludeBytes. Errors: kBadInput if these are not the beginning of a supported DBN version, or
// the size exceeds the limit.
absl::StatusOr<std::size_t> metadata_bytes(std::span<const std::byte> prelude);

// Parses the whole metadata, from "DBN" on. Errors: kBadInput with the field and its offset.
absl::StatusOr<Metadata> parse_metadata(std::span<const std::byte> bytes);

// The inverse of parse_metadata. Errors: kInvalidArgument for a dataset or symbol that is not ASCII
// or does not fit its field, or for a version that does not exist.
absl::StatusOr<std::string> encode_metadata(const Metadata& metadata);

// Sets the time range of the records in raw metadata and changes nothing else. `end_ns` is
// exclusive, or kUndefTimestamp if unknown. Errors: those of metadata_bytes.
absl::Status set_time_range(std::string& raw_metadata, std::uint64_t start_ns,
                            std::uint64_t end_ns);

// Returns a schema's name in the DBN documentation, for example "definition"; "mixed" for kMixed,
// "unknown (N)" otherwise.
std::string schema_name(SchemaId id);

}  // namespace lapwing::dbn
