// Binds lapwing_schema_fields.
#include <nanobind/stl/string.h>
#include <native/bind.h>
#include <native/call.h>
#include <native/functions.h>
#include <native/schema.h>
#include <native/values.h>

#include <string>

namespace lapwing_python {

nb::tuple SchemaOut::result() const {
  nb::list rows;
  for (std::size_t i = 0; i < schema.field_count; ++i) {
    const lapwing_field& field = fields[i];
    rows.append(nb::make_tuple(text_of(field.name), field.offset, field.bytes, field.type,
                               field.unit, field.role));
  }
  return nb::make_tuple(text_of(schema.name), schema.version, schema.record_bytes, schema.hash,
                        text_of(text.data()), rows);
}

namespace {

nb::tuple fields_of(const std::string& directory, const std::string& name) {
  return described([&](SchemaOut& out, lapwing_error& failure) {
    const WithoutGil released;
    return api.schema_fields(or_null(directory), or_null(name), &out.schema, out.fields.data(),
                             out.fields.size(), out.text.data(), out.text.size(), &failure);
  });
}

}  // namespace

void bind_schema(nb::module_& module) {
  module.def(
      "schema_fields", &fields_of, nb::arg("directory"), nb::arg("name"),
      nb::sig("def schema_fields(directory: str, name: str) -> "
              "tuple[str, int, int, int, str, list[tuple[str, int, int, int, int, int]]]"),
      "(name, version, record_bytes, hash, text, [(name, offset, bytes, type, unit, role)])");
}

}  // namespace lapwing_python
