// lapwing_schema_fields.
#include <nanobind/stl/string.h>
#include <native/bind.h>
#include <native/call.h>
#include <native/functions.h>
#include <native/values.h>

#include <string>
#include <vector>

namespace lapwing_python {

namespace {

nb::tuple fields_of(const std::string& directory, const std::string& name) {
  Failure failure;
  lapwing_schema schema = {};
  schema.struct_size = sizeof schema;
  std::vector<lapwing_field> fields;
  std::vector<char> text(1);
  for (;;) {  // the description may change between two calls
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.schema_fields(or_null(directory), or_null(name), &schema, fields.data(),
                                 fields.size(), text.data(), text.size(), &failure);
    }
    if (result == LAPWING_OK) break;
    if (result != LAPWING_ERROR_TOO_SMALL) raise(result, failure);
    fields.resize(schema.field_count);
    text.resize(schema.text_bytes);
  }
  nb::list rows;
  for (std::size_t i = 0; i < schema.field_count; ++i) {
    const lapwing_field& field = fields[i];
    rows.append(nb::make_tuple(text_of(field.name), field.offset, field.bytes, field.type,
                               field.unit, field.role));
  }
  return nb::make_tuple(text_of(schema.name), schema.version, schema.record_bytes, schema.hash,
                        text_of(text.data()), rows);
}

}  // namespace

void bind_schema(nb::module_& module) {
  module.def(
      "schema_fields", &fields_of, nb::arg("directory"), nb::arg("name"),
      "(name, version, record_bytes, hash, text, [(name, offset, bytes, type, unit, role)])");
}

}  // namespace lapwing_python
