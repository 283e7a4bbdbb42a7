// A description, as the C interface has it: its fields, and the whole as text.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>

#include "lapwing.h"
#include "lapwing/schema.h"

namespace lapwing::c {

// Where a caller wants it: as of lapwing_schema_fields().
struct SchemaOut {
  lapwing_schema* schema;
  lapwing_field* fields;
  std::size_t fields_max;
  char* text;
  std::size_t text_bytes_max;

  // Before anything else. Errors: kInvalidArgument.
  absl::Status check() const;
  // Errors: kTooSmall; `schema` is filled in then, too.
  absl::Status put(const Schema& description) const;
};

}  // namespace lapwing::c
