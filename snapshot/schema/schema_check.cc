// Checks whether a description is valid.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "lapwing/schema.h"
#include "proto/ring_layout.h"
#include "snapshot/schema/field_names.h"
#include "snapshot/schema/field_reader.h"

namespace lapwing {
namespace {

static_assert(detail::kDescribedBytesMin == kRecordBytesMin);
static_assert(detail::kDescribedBytesMax == kRecordBytesMax);

bool is_integer(FieldType type) {
  return type <= FieldType::kUInt64 || type == FieldType::kChar;
}

bool holds(const Field& field, std::int64_t value) {
  const std::uint32_t bits = 8 * field.bytes;
  if (bits >= 64) return true;  // values from 2^63 on are negative, with the same bits
  if (field.unit == FieldUnit::kFlags || is_unsigned(field.type)) {
    return value >= 0 && value < std::int64_t{1} << bits;
  }
  const bool is_letter = field.type == FieldType::kChar;  // char may be signed or unsigned
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  return value >= -half && value < (is_letter ? 2 * half : half);
}

std::string fault_of_values(const Field& field) {
  std::set<std::string_view> names;
  std::set<std::int64_t> values;
  for (const FieldValue& value : field.values) {
    if (value.name.empty() || value.name.size() > kFieldNameBytesMax ||
        !detail::is_printable(value.name)) {
      return absl::StrCat("names the value ", value.value, " with what is not 1 to ",
                          kFieldNameBytesMax, " printable letters without a space");
    }
    if (!holds(field, value.value)) {
      return absl::StrCat("names the value ", value.value, ", which it cannot hold");
    }
    if (field.unit == FieldUnit::kFlags &&
        !std::has_single_bit(static_cast<std::uint64_t>(value.value))) {
      return absl::StrCat("names the flag ", value.value, ", which is not one bit");
    }
    if (!names.insert(value.name).second || !values.insert(value.value).second) {
      return absl::StrCat("names ", value.name, " or the value ", value.value, " twice");
    }
  }
  return {};
}

// Returns what is wrong with a field on its own; empty if nothing is.
std::string fault_of(const Field& field) {
  const TypeName* const type = entry_of(kTypeNames, field.type);
  if (type == nullptr) return "has a type that this release does not know";
  if (type->bytes != 0 && field.bytes != type->bytes) {
    return absl::StrCat("has ", field.bytes, " bytes, but ", type->name, " has ", type->bytes);
  }
  if (field.bytes == 0) return "has no bytes";
  if (entry_of(kUnitNames, field.unit) == nullptr || entry_of(kRoleNames, field.role) == nullptr) {
    return "has a unit or a role that this release does not know";
  }
  const bool is_time = field.role == FieldRole::kTime || field.role == FieldRole::kPublishTime;
  if (is_time && field.unit != FieldUnit::kUtcNs) return "is a time, and its unit is not utc_ns";
  if (field.unit == FieldUnit::kUtcNs && field.type != FieldType::kUInt64) {
    return absl::StrCat("is in UTC ns, which are uint64 and not ", type->name);
  }
  if (field.unit == FieldUnit::kPrice && field.type != FieldType::kInt64) {
    return absl::StrCat("is a price, which is int64 and not ", type->name);
  }
  if (field.unit == FieldUnit::kFlags && !is_unsigned(field.type)) {
    return absl::StrCat("has flags, which are an unsigned integer and not ", type->name);
  }
  if (!field.values.empty() && !is_integer(field.type)) {
    return absl::StrCat("names values, which ", type->name, " does not have");
  }
  return fault_of_values(field);
}

absl::Status invalid(const Schema& schema, absl::string_view what) {
  return make_error(Errc::kInvalidArgument, absl::StrCat("schema ", schema.name, ": ", what));
}

}  // namespace

absl::Status Schema::check() const {
  if (!detail::is_schema_name(name)) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("a schema's name has 1 to ", kSchemaNameBytesMax,
                                   " printable letters without a space, such as desk.signal; got ",
                                   name.size(), " bytes"));
  }
  if (version == 0) return invalid(*this, "versions begin at 1");
  if (record_bytes < kRecordBytesMin || record_bytes > kRecordBytesMax) {
    return invalid(*this, absl::StrCat("records of ", record_bytes, " bytes; they have ",
                                       kRecordBytesMin, " to ", kRecordBytesMax));
  }
  if (fields.empty()) return invalid(*this, "no fields");
  if (fields.size() > kSchemaFieldsMax) {
    return make_error(Errc::kLimit,
                      absl::StrCat("schema ", name, " has ", fields.size(), " fields; at most ",
                                   kSchemaFieldsMax, " are allowed"));
  }
  std::set<std::string_view> names;
  const Field* before = nullptr;
  bool has_time = false;
  bool has_publish_time = false;
  for (const Field& field : fields) {
    const auto fault = [&](absl::string_view what) {
      return invalid(*this, absl::StrCat("field ", field.name, " ", what));
    };
    if (!detail::is_field_name(field.name)) {
      return invalid(*this, absl::StrCat("the field at ", field.offset, " has a name that is not ",
                                         "1 to ", kFieldNameBytesMax,
                                         " letters, digits and _, with a letter or _ first"));
    }
    if (!names.insert(field.name).second) return fault("is listed twice");
    if (const std::string what = fault_of(field); !what.empty()) return fault(what);
    const std::uint64_t end = std::uint64_t{field.offset} + field.bytes;
    if (end > record_bytes) {
      return fault(absl::StrCat("ends at ", end, ", but the record has ", record_bytes, " bytes"));
    }
    if (before != nullptr && field.offset < before->offset + before->bytes) {
      return fault(absl::StrCat("begins at ", field.offset, ", before the end of ", before->name));
    }
    before = &field;
    if (field.role == FieldRole::kTime && has_time) return fault("is a second time");
    if (field.role == FieldRole::kPublishTime && has_publish_time) {
      return fault("is a second publish_time");
    }
    has_time = has_time || field.role == FieldRole::kTime;
    has_publish_time = has_publish_time || field.role == FieldRole::kPublishTime;
  }
  if (const std::size_t bytes = text().size(); bytes > kSchemaTextBytesMax) {
    return make_error(Errc::kLimit,
                      absl::StrCat("the text of schema ", name, " has ", bytes, " bytes; at most ",
                                   kSchemaTextBytesMax, " are allowed"));
  }
  return absl::OkStatus();
}

const Field* Schema::find(std::string_view field_name) const {
  const auto found = std::ranges::find(fields, field_name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

const Field* Schema::find(FieldRole role) const {
  const auto found = std::ranges::find(fields, role, &Field::role);
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace lapwing
