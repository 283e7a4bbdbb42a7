// The schemas that Lapwing ships, and how many bytes a record of each has: whoever takes records of
// a schema apart has to know first that they are as long as that schema says. No behaviour.
#pragma once

#include <cstdint>
#include <string_view>

#include "lapwing/dbn.h"
#include "lapwing/kv16.h"

namespace lapwing {

// 0: Lapwing does not ship this schema.
constexpr std::uint32_t shipped_record_bytes(std::string_view schema) {
  if (schema == kv16::kSchema) return sizeof(kv16::Record);
  const dbn::RecordSchema* const known = dbn::find_schema(schema);
  return known == nullptr ? 0 : known->record_bytes;
}

// False: records of that size are none of that schema. Of a schema that Lapwing does not ship,
// nobody here knows.
constexpr bool schema_fits(std::string_view schema, std::uint32_t record_bytes) {
  const std::uint32_t shipped = shipped_record_bytes(schema);
  return shipped == 0 || shipped == record_bytes;
}

}  // namespace lapwing
