// Checks whether a program can read records using its own description of them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lapwing/schema.h"
#include "snapshot/schema/field_names.h"
#include "snapshot/schema/first_difference.h"

namespace lapwing {
namespace {

const char* name_of(FieldType type) {
  const TypeName* const entry = entry_of(kTypeNames, type);
  return entry == nullptr ? "unknown" : entry->name;
}
const char* name_of(FieldUnit unit) {
  const UnitName* const entry = entry_of(kUnitNames, unit);
  return entry == nullptr ? "unknown" : entry->name;
}
const char* name_of(FieldRole role) {
  const RoleName* const entry = entry_of(kRoleNames, role);
  return entry == nullptr ? "unknown" : entry->name;
}

// Returns the name and version of `found`, and the expected version if it differs.
std::string versions_of(const Schema& expected, const Schema& found) {
  const std::string version = absl::StrCat(found.name, " version ", found.version);
  if (found.version == expected.version) return version;
  return absl::StrCat(version, " instead of version ", expected.version);
}

// Describes how `found` differs; empty if a program with `expected` reads it correctly.
std::string difference(const Field& expected, const Field& found) {
  if (found.type != expected.type) {
    return absl::StrCat("is ", name_of(found.type), ", not ", name_of(expected.type));
  }
  if (found.bytes != expected.bytes) {
    return absl::StrCat("has ", found.bytes, " bytes, not ", expected.bytes);
  }
  if (found.offset != expected.offset) {
    return absl::StrCat("is at byte ", found.offset, ", not at ", expected.offset);
  }
  if (found.unit != expected.unit) {
    return absl::StrCat("has the unit ", name_of(found.unit), ", not ", name_of(expected.unit));
  }
  if (found.role != expected.role) {
    return absl::StrCat("has the role ", name_of(found.role), ", not ", name_of(expected.role));
  }
  for (const FieldValue& value : expected.values) {
    if (std::ranges::find(found.values, value) == found.values.end()) {
      return absl::StrCat("does not call the value ", value.value, " ", value.name);
    }
  }
  return {};
}

const Field* at(const Schema& schema, const Field& place) {
  const auto found = std::ranges::find_if(schema.fields, [&](const Field& field) {
    return field.offset == place.offset && field.bytes == place.bytes;
  });
  return found == schema.fields.end() ? nullptr : &*found;
}

// True if the field is within one spare field or several adjacent ones.
bool lies_in_spare_bytes(const Schema& schema, const Field& added) {
  std::uint64_t at = added.offset;
  const std::uint64_t end = at + added.bytes;
  for (const Field& field : schema.fields) {
    const std::uint64_t field_end = std::uint64_t{field.offset} + field.bytes;
    if (field.role == FieldRole::kSpare && field.offset <= at && at < field_end) at = field_end;
  }
  return at >= end;
}

// If the field at the same position differs only in name and is not expected itself, the missing
// field was renamed.
std::string missing(const Schema& expected, const Schema& found, const Field& field) {
  const Field* const other = at(found, field);
  const bool was_renamed = other != nullptr && expected.find(other->name) == nullptr &&
                           difference(field, *other).empty();
  if (was_renamed) return absl::StrCat("field ", field.name, " is called ", other->name);
  return absl::StrCat("field ", field.name, " is missing");
}

}  // namespace

std::string first_difference(const Schema& expected, const Schema& found) {
  for (const Field& field : expected.fields) {
    if (field.role == FieldRole::kSpare) continue;
    const Field* const same = found.find(field.name);
    if (same == nullptr) return missing(expected, found, field);
    if (const std::string what = difference(field, *same); !what.empty()) {
      return absl::StrCat("field ", field.name, " ", what);
    }
  }
  if (found.record_bytes != expected.record_bytes) {
    return absl::StrCat("the record has ", found.record_bytes, " bytes, not ",
                        expected.record_bytes);
  }
  for (const Field& field : found.fields) {
    const Field* const same = expected.find(field.name);
    const bool is_expected = same != nullptr && same->role != FieldRole::kSpare;
    if (field.role == FieldRole::kSpare || is_expected) continue;
    if (field.role == FieldRole::kKey) {
      return absl::StrCat("field ", field.name, " is a key that version ", expected.version,
                          " does not have");
    }
    if (found.version <= expected.version) {
      return absl::StrCat("field ", field.name, " is new, and a new field needs a later version");
    }
    if (!lies_in_spare_bytes(expected, field)) {
      return absl::StrCat("field ", field.name, " is not in version ", expected.version,
                          ", and does not lie in its spare bytes");
    }
  }
  return {};
}

std::string mismatch(const Schema& expected, const Schema& found) {
  if (found.name != expected.name) {
    return absl::StrCat("the records are ", found.name, ", not ", expected.name);
  }
  const std::string difference = first_difference(expected, found);
  if (difference.empty()) return {};
  return absl::StrCat(versions_of(expected, found), ": ", difference);
}

}  // namespace lapwing
