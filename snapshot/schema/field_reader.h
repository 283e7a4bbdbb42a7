// Reads the fields of a record according to their descriptions. The caller must check that the
// record has the length given in its schema (Schema::check ensures that the fields are within it).
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "lapwing/schema.h"

namespace lapwing {

constexpr bool is_unsigned(FieldType type) {
  return type == FieldType::kUInt8 || type == FieldType::kUInt16 || type == FieldType::kUInt32 ||
         type == FieldType::kUInt64;
}

constexpr bool is_signed(FieldType type) {
  return type == FieldType::kInt8 || type == FieldType::kInt16 || type == FieldType::kInt32 ||
         type == FieldType::kInt64;
}

template <typename Value>
Value load_at(std::span<const std::byte> record, std::size_t offset) {
  Value value;
  std::memcpy(&value, record.data() + offset, sizeof value);
  return value;
}
template <typename Value>
Value load_field(const Field& field, std::span<const std::byte> record) {
  return load_at<Value>(record, field.offset);
}

// Returns the text up to the first zero, or up to the end.
inline std::string_view text_of(const Field& field, std::span<const std::byte> record) {
  const char* const text = reinterpret_cast<const char*>(record.data()) + field.offset;
  return {text, strnlen(text, field.bytes)};
}

// Calls visit with the value: a std::uint64_t, std::int64_t, float, double, char, std::string_view
// or a span of bytes.
template <typename Visit>
auto visit_field(const Field& field, std::span<const std::byte> record, Visit&& visit) {
  switch (field.type) {
    case FieldType::kInt8:
      return visit(std::int64_t{load_field<std::int8_t>(field, record)});
    case FieldType::kInt16:
      return visit(std::int64_t{load_field<std::int16_t>(field, record)});
    case FieldType::kInt32:
      return visit(std::int64_t{load_field<std::int32_t>(field, record)});
    case FieldType::kInt64:
      return visit(load_field<std::int64_t>(field, record));
    case FieldType::kUInt8:
      return visit(std::uint64_t{load_field<std::uint8_t>(field, record)});
    case FieldType::kUInt16:
      return visit(std::uint64_t{load_field<std::uint16_t>(field, record)});
    case FieldType::kUInt32:
      return visit(std::uint64_t{load_field<std::uint32_t>(field, record)});
    case FieldType::kUInt64:
      return visit(load_field<std::uint64_t>(field, record));
    case FieldType::kFloat32:
      return visit(load_field<float>(field, record));
    case FieldType::kFloat64:
      return visit(load_field<double>(field, record));
    case FieldType::kChar:
      return visit(load_field<char>(field, record));
    case FieldType::kText:
      return visit(text_of(field, record));
    case FieldType::kBytes:
      break;
  }
  return visit(record.subspan(field.offset, field.bytes));
}

}  // namespace lapwing
