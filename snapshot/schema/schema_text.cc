// Converts a description to text, and back.
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "lapwing/schema.h"
#include "snapshot/json_members.h"
#include "snapshot/schema/field_names.h"

namespace lapwing {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json json_of(const Field& field) {
  ordered_json object;
  object["name"] = field.name;
  if (const TypeName* const type = entry_of(kTypeNames, field.type)) {
    object["type"] = type->name;
    if (type->bytes == 0) object["bytes"] = field.bytes;
  }
  object["offset"] = field.offset;
  if (field.unit != FieldUnit::kPlain) {
    if (const UnitName* const unit = entry_of(kUnitNames, field.unit)) object["unit"] = unit->name;
  }
  if (field.role != FieldRole::kData) {
    if (const RoleName* const role = entry_of(kRoleNames, field.role)) object["role"] = role->name;
  }
  if (!field.values.empty()) {
    ordered_json values = ordered_json::array();
    for (const FieldValue& value : field.values) values.push_back({value.name, value.value});
    object["values"] = std::move(values);
  }
  return object;
}

absl::Status unreadable(absl::string_view what) {
  return make_error(Errc::kInvalidArgument, absl::StrCat("the text of a schema: ", what));
}

// Only texts and bytes specify their length.
bool take_bytes(const json& object, const TypeName& type, std::uint32_t& out) {
  if (type.bytes == 0) return take(object, "bytes", out);
  out = type.bytes;
  return !object.contains("bytes");
}

// Sets `out` if the member exists. Returns false if its value is not in `entries`.
template <typename Entries, typename Value>
bool take_word(const json& object, const char* key, const Entries& entries, Value& out) {
  if (!object.contains(key)) return true;
  std::string word;
  if (!take(object, key, word)) return false;
  const auto* const entry = entry_of(entries, std::string_view(word));
  if (entry != nullptr) out = entry->value;
  return entry != nullptr;
}

bool take_values(const json& object, std::vector<FieldValue>& out) {
  const auto found = object.find("values");
  if (found == object.end()) return true;
  if (!found->is_array()) return false;
  for (const json& pair : *found) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() ||
        !pair[1].is_number_integer()) {
      return false;
    }
    if (pair[1].is_number_unsigned() && pair[1].get<std::uint64_t>() > INT64_MAX) return false;
    out.push_back({pair[0].get<std::string>(), pair[1].get<std::int64_t>()});
  }
  return true;
}

absl::StatusOr<Field> field_of(const json& object) {
  Field field;
  if (!object.is_object() || !take(object, "name", field.name)) {
    return unreadable("a field has no name");
  }
  std::string type;
  const TypeName* const known =
      take(object, "type", type) ? entry_of(kTypeNames, std::string_view(type)) : nullptr;
  if (known == nullptr) {
    return unreadable(
        absl::StrCat("field ", field.name, " has no type, or one that this release does not know"));
  }
  field.type = known->value;
  const bool complete =
      take(object, "offset", field.offset) && take_bytes(object, *known, field.bytes) &&
      take_word(object, "unit", kUnitNames, field.unit) &&
      take_word(object, "role", kRoleNames, field.role) && take_values(object, field.values);
  if (!complete) {
    return unreadable(absl::StrCat("field ", field.name,
                                   " lacks a member, or has one that this release does not know"));
  }
  return field;
}

}  // namespace

std::string Schema::text() const {
  ordered_json object;
  object["name"] = name;
  object["version"] = version;
  object["record_bytes"] = record_bytes;
  ordered_json& list = object["fields"] = ordered_json::array();
  for (const Field& field : fields) list.push_back(json_of(field));
  // check() refuses names that are not ASCII, so they must not throw here.
  return object.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
}

std::uint64_t Schema::hash() const {
  return hash_of(text());
}

std::uint64_t Schema::hash_of(std::string_view text) {
  const std::uint64_t hash = XXH3_64bits(text.data(), text.size());
  return hash == 0 ? 1 : hash;
}

absl::StatusOr<Schema> Schema::parse(std::string_view text) {
  if (text.size() > kSchemaTextBytesMax) {
    return make_error(Errc::kLimit,
                      absl::StrCat("the text of a schema has ", text.size(), " bytes; at most ",
                                   kSchemaTextBytesMax, " are allowed"));
  }
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return unreadable("not a JSON object");
  Schema schema;
  if (!take(object, "name", schema.name) || !take(object, "version", schema.version) ||
      !take(object, "record_bytes", schema.record_bytes)) {
    return unreadable("name, version or record_bytes is missing");
  }
  const auto list = object.find("fields");
  if (list == object.end() || !list->is_array()) return unreadable("fields is missing");
  if (list->size() > kSchemaFieldsMax) {
    return make_error(Errc::kLimit,
                      absl::StrCat("schema ", schema.name, " has ", list->size(),
                                   " fields; at most ", kSchemaFieldsMax, " are allowed"));
  }
  for (const json& entry : *list) {
    absl::StatusOr<Field> field = field_of(entry);
    if (!field.ok()) return field.status();
    schema.fields.push_back(*std::move(field));
  }
  if (absl::Status status = schema.check(); !status.ok()) return status;
  return schema;
}

}  // namespace lapwing
