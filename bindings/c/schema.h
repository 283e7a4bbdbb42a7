// A description in the C interface: its fields, and its full text.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>

#include "lapwing.h"
#include "lapwing/schema.h"

namespace lapwing::c {

// A caller's outputs, as in lapwing_schema_fields().
struct SchemaOut {
  lapwing_schema* schema;
  lapwing_field* fields;
  std::size_t fields_max;
  char* text;
  std::size_t text_bytes_max;

  // Call it first. Errors: kInvalidArgument.
  absl::Status check() const;
  // Errors: kTooSmall, with `schema` filled in.
  absl::Status put(const Schema& description) const;
};

}  // namespace lapwing::c
