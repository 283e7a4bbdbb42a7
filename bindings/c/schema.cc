#include "bindings/c/schema.h"

#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bindings/c/call.h"
#include "bindings/c/structs.h"
#include "lapwing/fold.h"
#include "lapwing/order_entry.h"
#include "lapwing/schema.h"
#include "snapshot/bus_directory.h"
#include "snapshot/schema/known_schemas.h"
#include "snapshot/schema/record_identity.h"

namespace lapwing::c {
namespace {

absl::StatusOr<Schema> schema_of_bus(const char* directory) {
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory);
  if (!bus.ok()) return bus.status();
  const RecordIdentity records = records_of(*bus);
  if (records.description != nullptr) return *records.description;
  if (!records.note.empty()) return make_error(Errc::kNotFound, records.note);
  return make_error(Errc::kNotFound,
                    absl::StrCat("the records of the bus in ", directory, ", ",
                                 records.record_bytes, " bytes of \"", records.schema,
                                 "\", are not described. Set the publisher's option `schema`"));
}

// Describes the entries of the fold `orders`: a record, and its place.
Schema orders_schema() {
  Schema schema = *known_schema("dbn.mbo");
  schema.name = kFoldOrders;
  schema.record_bytes = sizeof(OrderEntry);
  schema.fields.push_back({.name = "place",
                           .type = FieldType::kUInt64,
                           .offset = offsetof(OrderEntry, place),
                           .bytes = sizeof(OrderEntry::place)});
  return schema;
}

absl::StatusOr<Schema> schema_by_name(const std::string& name) {
  if (name == kFoldOrders) return orders_schema();
  if (std::optional<Schema> known = known_schema(name)) return *std::move(known);
  std::string all = kFoldOrders;
  for (const std::string_view shipped : known_schema_names()) all.append(", ").append(shipped);
  return make_error(Errc::kNotFound,
                    absl::StrCat("Lapwing ships no schema \"", name, "\"; there are ", all));
}

lapwing_field field_of(const Field& field) {
  lapwing_field out{};
  put_text(out.name, field.name);
  out.offset = field.offset;
  out.bytes = field.bytes;
  out.type = static_cast<std::uint32_t>(field.type);
  out.unit = static_cast<std::uint32_t>(field.unit);
  out.role = static_cast<std::uint32_t>(field.role);
  return out;
}

}  // namespace

absl::Status SchemaOut::check() const {
  return check_struct(schema, schema == nullptr ? 0 : schema->struct_size, "schema");
}

absl::Status SchemaOut::put(const Schema& description) const {
  const std::string json = description.text();
  lapwing_schema made{};
  made.record_bytes = description.record_bytes;
  put_text(made.name, description.name);
  made.version = description.version;
  made.hash = description.hash();
  made.field_count = description.fields.size();
  made.text_bytes = json.size() + 1;
  copy_out(made, schema);
  if ((fields != nullptr && fields_max < made.field_count) ||
      (text != nullptr && text_bytes_max < made.text_bytes)) {
    return make_error(Errc::kTooSmall,
                      absl::StrCat("there are ", made.field_count, " fields and ", made.text_bytes,
                                   " bytes of text; give room for them"));
  }
  for (std::size_t i = 0; fields != nullptr && i < made.field_count; ++i) {
    fields[i] = field_of(description.fields[i]);
  }
  if (text != nullptr) put_text(text, text_bytes_max, json);
  return absl::OkStatus();
}

}  // namespace lapwing::c

extern "C" lapwing_result lapwing_schema_fields(const char* directory, const char* name,
                                                lapwing_schema* schema, lapwing_field* fields,
                                                size_t fields_max, char* text,
                                                size_t text_bytes_max, lapwing_error* error) {
  using namespace lapwing;
  using namespace lapwing::c;
  return run(error, [&]() -> lapwing_result {
    const SchemaOut out{schema, fields, fields_max, text, text_bytes_max};
    if (absl::Status fits = out.check(); !fits.ok()) return fail(error, fits);
    const absl::StatusOr<Schema> found =
        directory != nullptr ? schema_of_bus(directory) : schema_by_name(text_of(name));
    if (!found.ok()) return fail(error, found.status());
    const absl::Status put = out.put(*found);
    return put.ok() ? success() : fail(error, put);
  });
}
