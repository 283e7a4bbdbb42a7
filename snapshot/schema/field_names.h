// The names of types, units and roles in a schema's text. They must not change, because journals
// contain them.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "lapwing/schema.h"

namespace lapwing {

struct TypeName {
  FieldType value;
  const char* name;
  std::uint32_t bytes;  // 0: the field specifies the size
};
inline constexpr TypeName kTypeNames[] = {
    {FieldType::kInt8, "int8", 1},       {FieldType::kInt16, "int16", 2},
    {FieldType::kInt32, "int32", 4},     {FieldType::kInt64, "int64", 8},
    {FieldType::kUInt8, "uint8", 1},     {FieldType::kUInt16, "uint16", 2},
    {FieldType::kUInt32, "uint32", 4},   {FieldType::kUInt64, "uint64", 8},
    {FieldType::kFloat32, "float32", 4}, {FieldType::kFloat64, "float64", 8},
    {FieldType::kChar, "char", 1},       {FieldType::kText, "text", 0},
    {FieldType::kBytes, "bytes", 0},
};

struct UnitName {
  FieldUnit value;
  const char* name;
};
inline constexpr UnitName kUnitNames[] = {
    {FieldUnit::kPlain, "plain"},
    {FieldUnit::kPrice, "price"},
    {FieldUnit::kUtcNs, "utc_ns"},
    {FieldUnit::kFlags, "flags"},
};

struct RoleName {
  FieldRole value;
  const char* name;
};
inline constexpr RoleName kRoleNames[] = {
    {FieldRole::kData, "data"},   {FieldRole::kTime, "time"},
    {FieldRole::kKey, "key"},     {FieldRole::kPublishTime, "publish_time"},
    {FieldRole::kSpare, "spare"},
};

// Returns the entry with this value or name, or nullptr if there is none.
template <typename Entry, std::size_t kEntries>
constexpr const Entry* entry_of(const Entry (&entries)[kEntries], decltype(Entry::value) value) {
  for (const Entry& entry : entries) {
    if (entry.value == value) return &entry;
  }
  return nullptr;
}
template <typename Entry, std::size_t kEntries>
constexpr const Entry* entry_of(const Entry (&entries)[kEntries], std::string_view name) {
  for (const Entry& entry : entries) {
    if (name == entry.name) return &entry;
  }
  return nullptr;
}

}  // namespace lapwing
