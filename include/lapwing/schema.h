// The description of a record: a name, a version and its fields, so that programs and tools can
// read a record without its C++ type. The rules are in docs/reference/records.md.
//
//   struct Signal {
//     std::uint64_t ts_recv;
//     std::uint32_t instrument;
//     float weight;
//     double fair_value;
//   };
//   LAPWING_RECORD(Signal, "desk.signal", 1, (ts_recv, kTime), (instrument, kKey), weight,
//                  fair_value);
//
//   const lapwing::Schema schema = lapwing::schema_of<Signal>();
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/detail/record_description.h"
#include "lapwing/detail/record_macro.h"

namespace lapwing {

inline constexpr std::size_t kSchemaTextBytesMax = 48 * 1024;

// The name of an enumeration's value, or of a flag, whose `value` is its bit. uint64 values of 2^63
// or more are stored as the negative number with the same bits.
struct FieldValue {
  std::string name;
  std::int64_t value = 0;

  friend bool operator==(const FieldValue&, const FieldValue&) = default;
};

struct Field {
  std::string name;
  FieldType type = FieldType::kBytes;
  std::uint32_t offset = 0;  // in the record, bytes
  std::uint32_t bytes = 0;
  FieldUnit unit = FieldUnit::kPlain;
  FieldRole role = FieldRole::kData;
  std::vector<FieldValue> values = {};  // of an enumeration or of flags; empty: no value has a name

  friend bool operator==(const Field&, const Field&) = default;
};

struct Schema {
  std::string name;
  std::uint32_t version = 1;
  std::uint32_t record_bytes = 0;
  std::vector<Field> fields = {};  // in offset order

  // Checks the description: names, sizes, fields that are inside the record and do not overlap, and
  // roles and units that fit their types.
  // Errors: kInvalidArgument (the message names the field), kLimit.
  [[nodiscard]] absl::Status check() const;
  // Returns the first field with that name or role, or nullptr if there is none.
  [[nodiscard]] const Field* find(std::string_view field_name) const;
  [[nodiscard]] const Field* find(FieldRole role) const;
  // One line of JSON, always the same for the same description.
  [[nodiscard]] std::string text() const;
  // XXH3-64 of text(), and never 0: in headers 0 means that there is no description.
  [[nodiscard]] std::uint64_t hash() const;
  // The same for text from another release, which may have members that parse() ignores.
  [[nodiscard]] static std::uint64_t hash_of(std::string_view text);
  // Reads and checks text(). Ignores members that this release does not have.
  // Errors: kInvalidArgument, kLimit.
  [[nodiscard]] static absl::StatusOr<Schema> parse(std::string_view text);

  friend bool operator==(const Schema&, const Schema&) = default;
};

// Returns why a program for `expected` cannot read records of `found`: a message that names the
// first field that differs. Empty if it can, which requires two things:
//  - Every field of `expected` is unchanged, except that more of its values may have names.
//  - Every new field belongs to a later version, is in spare bytes of `expected`, and is not a key.
[[nodiscard]] std::string mismatch(const Schema& expected, const Schema& found);

// A struct with its own LAPWING_RECORD, not one with a specialised schema_of.
template <typename Record>
concept DescribedRecord = requires(const Record* record) { lapwing_record(record); };

// Returns the description of a struct, from its LAPWING_RECORD. A program may specialise this
// function instead.
template <typename Record>
[[nodiscard]] Schema schema_of() {
  static_assert(DescribedRecord<Record>,
                "describe the struct by LAPWING_RECORD, or specialise lapwing::schema_of for it");
  constexpr auto description = lapwing_record(static_cast<const Record*>(nullptr));
  static_assert(description.record_bytes == sizeof(Record),
                "the LAPWING_RECORD is of a base of this struct");
  Schema schema;
  schema.name = description.name;
  schema.version = description.version;
  schema.record_bytes = description.record_bytes;
  for (const FieldDescription& field : description.fields) {
    for (std::uint32_t i = 0; i < field.count; ++i) {
      Field& added = schema.fields.emplace_back();
      added.name = field.is_array ? detail::element_name(field.name, i) : std::string(field.name);
      added.type = field.type;
      added.offset = field.offset + i * field.bytes;
      added.bytes = field.bytes;
      added.unit = field.unit;
      added.role = field.role;
      for (const NamedValue& value : field.values) {
        added.values.push_back({std::string(value.name), value.value});
      }
    }
  }
  return schema;
}

}  // namespace lapwing
