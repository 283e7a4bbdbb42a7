// Memory into which the library writes a schema.
#pragma once

#include <lapwing.h>
#include <nanobind/nanobind.h>
#include <native/call.h>

#include <vector>

namespace lapwing_python {

struct SchemaOut {
  SchemaOut() { schema.struct_size = sizeof schema; }
  // (name, version, record_bytes, hash, text, [(name, offset, bytes, type, unit, role)])
  nb::tuple result() const;

  lapwing_schema schema = {};
  std::vector<lapwing_field> fields;
  std::vector<char> text = std::vector<char>(1);
};

constexpr const char* kSchemaSignature =
    "def schema(self) -> tuple[str, int, int, int, str, list[tuple[str, int, int, int, int, int]]]";

// Calls fill(out, failure) with increasing memory until the schema fits, and returns it.
template <typename Fill>
nb::tuple described(Fill&& fill) {
  SchemaOut out;
  Failure failure;
  for (;;) {  // the schema may change between two calls
    const lapwing_result result = fill(out, failure);
    if (result == LAPWING_OK) return out.result();
    if (result != LAPWING_ERROR_TOO_SMALL) raise(result, failure);
    out.fields.resize(out.schema.field_count);
    out.text.resize(out.schema.text_bytes);
  }
}

}  // namespace lapwing_python
