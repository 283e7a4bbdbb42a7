#include "snapshot/dbn/dbn_metadata.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing::dbn {
namespace {

static_assert(std::endian::native == std::endian::little, "DBN is little-endian");

constexpr std::size_t kDatasetBytes = 16;
constexpr std::size_t kStartOffset = kPreludeBytes + kDatasetBytes + sizeof(SchemaId);
constexpr std::size_t kEndOffset = kStartOffset + sizeof(std::uint64_t);
constexpr std::size_t kReservedBytesV1 = 47;
constexpr std::size_t kReservedBytes = 53;
constexpr std::size_t kAlignmentV3 = 8;

// Takes fields from the front of the metadata. After the first missing field, every further field
// is empty, and status() reports the first.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename Integer>
  Integer integer(const char* field) {
    Integer value{};
    if (take(sizeof value, field)) std::memcpy(&value, last_, sizeof value);
    return value;
  }

  std::string text(std::size_t field_bytes, const char* field) {
    if (!take(field_bytes, field)) return {};
    const char* begin = reinterpret_cast<const char*>(last_);
    return std::string(begin, strnlen(begin, field_bytes));
  }

  void skip(std::size_t field_bytes, const char* field) { take(field_bytes, field); }

  // A count of list elements of at least element_bytes each. A count too large for the rest fails.
  std::uint32_t count(std::size_t element_bytes, const char* field) {
    const std::size_t at = offset_;
    const auto value = integer<std::uint32_t>(field);
    if (!status_.ok() || value <= (bytes_.size() - offset_) / element_bytes) return value;
    status_ = make_error(Errc::kBadInput,
                         absl::StrCat("the DBN metadata is damaged: ", field, " at byte ", at,
                                      " has a count of ", value, " entries, more than its ",
                                      bytes_.size(), " bytes can hold; fetch the data again"));
    return 0;
  }

  const absl::Status& status() const { return status_; }

 private:
  bool take(std::size_t field_bytes, const char* field) {
    if (!status_.ok()) return false;
    if (field_bytes > bytes_.size() - offset_) {
      status_ =
          make_error(Errc::kBadInput, absl::StrCat("the DBN metadata is damaged: it ends inside ",
                                                   field, " at byte ", offset_, " of ",
                                                   bytes_.size(), "; fetch the data again"));
      return false;
    }
    last_ = bytes_.data() + offset_;
    offset_ += field_bytes;
    return true;
  }

  std::span<const std::byte> bytes_;
  std::size_t offset_ = 0;
  const std::byte* last_ = nullptr;
  absl::Status status_;
};

std::vector<std::string> read_symbols(FieldReader& fields, std::size_t symbol_bytes,
                                      const char* field) {
  std::vector<std::string> symbols(fields.count(symbol_bytes, field));
  for (std::string& symbol : symbols) symbol = fields.text(symbol_bytes, field);
  return symbols;
}

std::vector<SymbolMapping> read_mappings(FieldReader& fields, std::size_t symbol_bytes) {
  const std::size_t interval_bytes = 2 * sizeof(std::uint32_t) + symbol_bytes;
  std::vector<SymbolMapping> mappings(
      fields.count(symbol_bytes + sizeof(std::uint32_t), "the count of mappings"));
  for (SymbolMapping& mapping : mappings) {
    mapping.raw_symbol = fields.text(symbol_bytes, "a mapping's symbol");
    mapping.intervals.resize(fields.count(interval_bytes, "the count of a mapping's intervals"));
    for (MappingInterval& interval : mapping.intervals) {
      interval.start_date = fields.integer<std::uint32_t>("a mapping's start date");
      interval.end_date = fields.integer<std::uint32_t>("a mapping's end date");
      interval.symbol = fields.text(symbol_bytes, "a mapping's target");
    }
  }
  return mappings;
}

// Appends fields. If a value cannot be written, status() returns an error.
class FieldWriter {
 public:
  template <typename Integer>
  void integer(Integer value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    out_.append(raw, sizeof value);
  }

  void text(const std::string& value, std::size_t field_bytes) {
    const bool ascii = std::all_of(value.begin(), value.end(), [](char c) {
      const auto code = static_cast<unsigned char>(c);
      return code > 0 && code < 0x80;
    });
    if (!ascii || value.size() >= field_bytes) {
      status_ = make_error(
          Errc::kInvalidArgument,
          absl::StrCat("\"", value, "\" cannot be stored in DBN metadata: it must be at most ",
                       field_bytes - 1, " characters of ASCII"));
      return;
    }
    out_.append(value);
    zeros(field_bytes - value.size());
  }

  void symbols(const std::vector<std::string>& values, std::size_t symbol_bytes) {
    integer(static_cast<std::uint32_t>(values.size()));
    for (const std::string& value : values) text(value, symbol_bytes);
  }

  void zeros(std::size_t count) { out_.append(count, '\0'); }
  std::string& bytes() { return out_; }
  const absl::Status& status() const { return status_; }

 private:
  std::string out_;
  absl::Status status_;
};

void write_mappings(FieldWriter& fields, const std::vector<SymbolMapping>& mappings,
                    std::size_t symbol_bytes) {
  fields.integer(static_cast<std::uint32_t>(mappings.size()));
  for (const SymbolMapping& mapping : mappings) {
    fields.text(mapping.raw_symbol, symbol_bytes);
    fields.integer(static_cast<std::uint32_t>(mapping.intervals.size()));
    for (const MappingInterval& interval : mapping.intervals) {
      fields.integer(interval.start_date);
      fields.integer(interval.end_date);
      fields.text(interval.symbol, symbol_bytes);
    }
  }
}

}  // namespace

absl::StatusOr<std::size_t> metadata_bytes(std::span<const std::byte> prelude) {
  if (prelude.size() < kPreludeBytes || std::memcmp(prelude.data(), "DBN", 3) != 0) {
    std::string found;
    for (const std::byte byte : prelude.first(std::min(prelude.size(), kPreludeBytes))) {
      absl::StrAppend(&found, " ", absl::Hex(static_cast<unsigned>(byte), absl::kZeroPad2));
    }
    return make_error(
        Errc::kBadInput,
        absl::StrCat("this is not DBN: it begins with", found,
                     ", not with \"DBN\" and a version; give a .dbn or .dbn.zst file"));
  }
  const auto version = static_cast<unsigned>(prelude[3]);
  if (version < 1 || version > kMetadataVersionMax) {
    return make_error(Errc::kBadInput,
                      absl::StrCat("this is DBN version ", version, ", but only versions 1 to ",
                                   kMetadataVersionMax, " can be read; convert it to version 3"));
  }
  std::uint32_t rest = 0;
  std::memcpy(&rest, prelude.data() + 4, sizeof rest);
  if (rest > kMetadataBytesMax) {
    return make_error(Errc::kBadInput, absl::StrCat("the DBN metadata has a length field of ", rest,
                                                    " bytes, but at most ", kMetadataBytesMax,
                                                    " are read; fetch the data again"));
  }
  return kPreludeBytes + rest;
}

absl::StatusOr<Metadata> parse_metadata(std::span<const std::byte> bytes) {
  const auto whole = metadata_bytes(bytes);
  if (!whole.ok()) return whole.status();
  if (*whole > bytes.size()) {
    return make_error(Errc::kBadInput,
                      absl::StrCat("the DBN metadata is cut off: ", bytes.size(), " of ", *whole,
                                   " bytes are there; fetch the data again"));
  }
  // In front of records, the extra bytes would be mistaken for records.
  if (*whole < bytes.size()) {
    return make_error(
        Errc::kBadInput,
        absl::StrCat("the DBN metadata has ", *whole, " bytes, and ", bytes.size() - *whole,
                     " that do not belong to it follow; fetch the data again, or "
                     "remove what was added"));
  }
  FieldReader fields(bytes.first(*whole));
  Metadata metadata;
  fields.skip(3, "the magic");
  metadata.version = fields.integer<std::uint8_t>("the version");
  fields.skip(sizeof(std::uint32_t), "the length");
  metadata.dataset = fields.text(kDatasetBytes, "the dataset");
  metadata.schema = fields.integer<SchemaId>("the schema");
  metadata.start = fields.integer<std::uint64_t>("the start");
  metadata.end = fields.integer<std::uint64_t>("the end");
  metadata.limit = fields.integer<std::uint64_t>("the limit");
  if (metadata.version == 1) fields.skip(sizeof(std::uint64_t), "the record count");
  metadata.stype_in = fields.integer<SType>("the input symbol type");
  metadata.stype_out = fields.integer<SType>("the output symbol type");
  metadata.ts_out = fields.integer<std::uint8_t>("ts_out") != 0;
  const std::size_t symbol_bytes = metadata.version == 1
                                       ? kSymbolBytesV1
                                       : fields.integer<std::uint16_t>("the symbol field's length");
  fields.skip(metadata.version == 1 ? kReservedBytesV1 : kReservedBytes, "the reserved bytes");
  const auto definition_bytes = fields.integer<std::uint32_t>("the schema definition's length");
  if (fields.status().ok() && (definition_bytes != 0 || symbol_bytes < kSymbolBytesV1)) {
    return make_error(Errc::kBadInput,
                      absl::StrCat("the DBN metadata has symbol fields of ", symbol_bytes,
                                   " bytes and a schema definition of ", definition_bytes,
                                   ", which no version up to ", kMetadataVersionMax,
                                   " allows; fetch the data again"));
  }
  if (!fields.status().ok()) return fields.status();
  metadata.symbols = read_symbols(fields, symbol_bytes, "the symbols");
  metadata.partial = read_symbols(fields, symbol_bytes, "the partly resolved symbols");
  metadata.not_found = read_symbols(fields, symbol_bytes, "the symbols not found");
  metadata.mappings = read_mappings(fields, symbol_bytes);
  if (!fields.status().ok()) return fields.status();
  return metadata;
}

absl::StatusOr<std::string> encode_metadata(const Metadata& metadata) {
  if (metadata.version < 1 || metadata.version > kMetadataVersionMax) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("there is no DBN version ", metadata.version,
                                   " to write; choose 1 to ", kMetadataVersionMax));
  }
  const bool v1 = metadata.version == 1;
  const std::size_t symbol_bytes = v1 ? kSymbolBytesV1 : kSymbolBytes;
  FieldWriter fields;
  fields.bytes() = "DBN";
  fields.integer(metadata.version);
  fields.zeros(sizeof(std::uint32_t));  // the length, set below
  fields.text(metadata.dataset, kDatasetBytes);
  fields.integer(metadata.schema);
  fields.integer(metadata.start);
  fields.integer(metadata.end);
  fields.integer(metadata.limit);
  if (v1) fields.integer(~std::uint64_t{0});  // record count: unknown
  fields.integer(metadata.stype_in);
  fields.integer(metadata.stype_out);
  fields.integer(static_cast<std::uint8_t>(metadata.ts_out));
  if (!v1) fields.integer(static_cast<std::uint16_t>(symbol_bytes));
  fields.zeros(v1 ? kReservedBytesV1 : kReservedBytes);
  fields.integer(std::uint32_t{0});  // no schema definition
  fields.symbols(metadata.symbols, symbol_bytes);
  fields.symbols(metadata.partial, symbol_bytes);
  fields.symbols(metadata.not_found, symbol_bytes);
  write_mappings(fields, metadata.mappings, symbol_bytes);
  std::string& out = fields.bytes();
  if (metadata.version >= 3)
    fields.zeros((kAlignmentV3 - out.size() % kAlignmentV3) % kAlignmentV3);
  if (!fields.status().ok()) return fields.status();
  const auto rest = static_cast<std::uint32_t>(out.size() - kPreludeBytes);
  std::memcpy(out.data() + 4, &rest, sizeof rest);
  return std::move(out);
}

absl::Status set_time_range(std::string& raw_metadata, std::uint64_t start_ns,
                            std::uint64_t end_ns) {
  const auto whole = metadata_bytes(std::as_bytes(std::span(raw_metadata)));
  if (!whole.ok()) return whole.status();
  if (*whole > raw_metadata.size() || *whole < kEndOffset + sizeof end_ns) {
    return make_error(Errc::kBadInput, "the DBN metadata is cut off; fetch the data again");
  }
  std::memcpy(raw_metadata.data() + kStartOffset, &start_ns, sizeof start_ns);
  std::memcpy(raw_metadata.data() + kEndOffset, &end_ns, sizeof end_ns);
  return absl::OkStatus();
}

std::string schema_name(SchemaId id) {
  constexpr std::string_view kPrefix = "dbn.";
  if (id == SchemaId::kMixed) return "mixed";
  const RecordSchema* const schema = find_schema(id);
  if (schema != nullptr) return std::string(schema->name).substr(kPrefix.size());
  return absl::StrCat("unknown (", static_cast<std::size_t>(id), ")");
}

}  // namespace lapwing::dbn
