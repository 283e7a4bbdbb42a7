// The compile-time description of a record, which LAPWING_RECORD makes from a struct's members, and
// the checks for its static assertions.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace lapwing {

inline constexpr std::size_t kSchemaNameBytesMax = 31;
inline constexpr std::size_t kFieldNameBytesMax = 63;
inline constexpr std::size_t kSchemaFieldsMax = 512;

enum class FieldType : std::uint32_t {
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kUInt8 = 5,
  kUInt16 = 6,
  kUInt32 = 7,
  kUInt64 = 8,
  kFloat32 = 9,
  kFloat64 = 10,
  kChar = 11,   // one character
  kText = 12,   // characters, up to the first zero or the end
  kBytes = 13,  // shown as hexadecimal digits
};

enum class FieldUnit : std::uint32_t {
  kPlain = 0,
  kPrice = 1,  // int64, 1e-9 of a currency or point; the maximum means none
  kUtcNs = 2,  // uint64, ns since 1970; the maximum means none
  kFlags = 3,  // unsigned, a sum of named bits
};

enum class FieldRole : std::uint32_t {
  kData = 0,
  kTime = 1,         // the record's time, UTC ns
  kKey = 2,          // identifies the subject of the record; there may be several
  kPublishTime = 3,  // UTC ns
  kSpare = 4,        // unused bytes; a later version may use them
};

// A name for a value of an enumeration, or for a flag, whose `value` is its bit.
struct NamedValue {
  std::string_view name;
  std::int64_t value = 0;
};

// A member of a struct. An array of numbers becomes `count` fields.
struct FieldDescription {
  std::string_view name;
  FieldType type = FieldType::kBytes;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;  // size of one element
  std::uint32_t count = 1;
  bool is_array = false;  // `count` fields, numbered
  FieldUnit unit = FieldUnit::kPlain;
  FieldRole role = FieldRole::kData;
  std::span<const NamedValue> values = {};

  constexpr std::uint32_t end() const { return offset + bytes * count; }
};

template <std::size_t kFields>
struct RecordDescription {
  std::string_view name;
  std::uint32_t version = 1;
  std::uint32_t record_bytes = 0;
  std::array<FieldDescription, kFields> fields = {};
};

namespace detail {

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_printable(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
}
constexpr bool is_schema_name(std::string_view name) {
  return !name.empty() && name.size() <= kSchemaNameBytesMax && is_printable(name);
}
constexpr bool is_field_name(std::string_view name) {
  return !name.empty() && name.size() <= kFieldNameBytesMax && is_letter(name.front()) &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// Record size limits. schema_check.cc asserts that they equal those of a ring.
inline constexpr std::size_t kDescribedBytesMin = 8;
inline constexpr std::size_t kDescribedBytesMax = 4088;

template <typename Member>
struct Elements {
  using Type = Member;
  static constexpr std::uint32_t kCount = 1;
  static constexpr bool kIsArray = false;
};
template <typename Element, std::size_t kElements>
struct Elements<Element[kElements]> {
  using Type = Element;
  static constexpr std::uint32_t kCount = kElements;
  static constexpr bool kIsArray = true;
};
template <typename Element, std::size_t kElements>
struct Elements<std::array<Element, kElements>> : Elements<Element[kElements]> {};

template <typename Number>
constexpr FieldType type_of() {
  if constexpr (std::is_enum_v<Number> && !std::is_same_v<Number, std::byte>) {
    return type_of<std::underlying_type_t<Number>>();
  } else if constexpr (std::is_same_v<Number, char>) {
    return FieldType::kChar;
  } else if constexpr (std::is_same_v<Number, std::byte>) {
    return FieldType::kBytes;
  } else if constexpr (std::is_same_v<Number, float>) {
    return FieldType::kFloat32;
  } else if constexpr (std::is_same_v<Number, double>) {
    return FieldType::kFloat64;
  } else {
    static_assert(std::is_integral_v<Number> && sizeof(Number) <= 8,
                  "a field is an integer, a float, a double, a char, an enumeration, std::byte, or "
                  "an array of one of them; describe other structs by a schema_of of your own");
    constexpr auto kFirst =
        static_cast<std::uint32_t>(std::is_signed_v<Number> ? FieldType::kInt8 : FieldType::kUInt8);
    constexpr std::uint32_t kPower = sizeof(Number) == 1   ? 0
                                     : sizeof(Number) == 2 ? 1
                                     : sizeof(Number) == 4 ? 2
                                                           : 3;
    return static_cast<FieldType>(kFirst + kPower);
  }
}

constexpr FieldDescription as_one(FieldDescription field, FieldType type) {
  field.type = type;
  field.bytes *= field.count;
  field.count = 1;
  field.is_array = false;
  return field;
}

template <typename Member>
constexpr FieldDescription describe_field(std::string_view name, std::size_t offset) {
  using Element = std::remove_cv_t<typename Elements<std::remove_cv_t<Member>>::Type>;
  FieldDescription field;
  field.name = name;
  field.type = type_of<Element>();
  field.offset = static_cast<std::uint32_t>(offset);
  field.bytes = sizeof(Element);
  field.count = Elements<Member>::kCount;
  field.is_array = Elements<std::remove_cv_t<Member>>::kIsArray;
  if (field.is_array && field.type == FieldType::kChar) return as_one(field, FieldType::kText);
  if (field.is_array && field.type == FieldType::kBytes) return as_one(field, FieldType::kBytes);
  return field;
}

template <typename Kind, typename... Options>
inline constexpr std::size_t count_of = (std::size_t{std::is_same_v<Kind, Options>} + ...);

constexpr FieldDescription with(FieldDescription field) {
  return field;
}
constexpr FieldDescription with(FieldDescription field, FieldRole role) {
  field.role = role;
  if (role == FieldRole::kSpare) field = as_one(field, FieldType::kBytes);
  if (role == FieldRole::kTime || role == FieldRole::kPublishTime) field.unit = FieldUnit::kUtcNs;
  return field;
}
constexpr FieldDescription with(FieldDescription field, FieldUnit unit) {
  field.unit = unit;
  return field;
}
constexpr FieldDescription with(FieldDescription field, std::span<const NamedValue> values) {
  field.values = values;
  return field;
}
template <typename First, typename Second, typename... Others>
constexpr FieldDescription with(const FieldDescription& field, const First& first,
                                const Second& second, const Others&... others) {
  constexpr std::size_t kUnits = count_of<FieldUnit, First, Second, Others...>;
  constexpr std::size_t kRoles = count_of<FieldRole, First, Second, Others...>;
  static_assert(kUnits <= 1 && kRoles <= 1 && sizeof...(Others) + 2 - kUnits - kRoles <= 1,
                "a field has one role, one unit and one array of names at most");
  return with(with(with(field, first), second), others...);
}

template <typename Record, std::size_t kFields>
constexpr RecordDescription<kFields> describe(std::string_view name, std::uint32_t version,
                                              std::array<FieldDescription, kFields> fields) {
  std::ranges::sort(fields, {}, &FieldDescription::offset);
  return {name, version, sizeof(Record), fields};
}

// Returns, for example, bid_px_00 or bid_px_01.
inline std::string element_name(std::string_view field, std::uint32_t index) {
  std::string digits = std::to_string(index);
  if (digits.size() < 2) digits.insert(0, 1, '0');
  return std::string(field) + "_" + digits;
}

constexpr bool fits(const FieldDescription& field) {
  switch (field.unit) {
    case FieldUnit::kPlain:
      return true;
    case FieldUnit::kPrice:
      return field.type == FieldType::kInt64;
    case FieldUnit::kUtcNs:
      return field.type == FieldType::kUInt64;
    case FieldUnit::kFlags:
      return field.type >= FieldType::kUInt8 && field.type <= FieldType::kUInt64;
  }
  return false;
}

constexpr bool units_fit(std::span<const FieldDescription> fields) {
  return std::ranges::all_of(fields, fits);
}
constexpr bool times_are_times(std::span<const FieldDescription> fields) {
  const auto is_right = [](const FieldDescription& field) {
    const bool is_time = field.role == FieldRole::kTime || field.role == FieldRole::kPublishTime;
    return !is_time || (field.unit == FieldUnit::kUtcNs && field.count == 1);
  };
  return std::ranges::all_of(fields, is_right) &&
         std::ranges::count(fields, FieldRole::kTime, &FieldDescription::role) <= 1 &&
         std::ranges::count(fields, FieldRole::kPublishTime, &FieldDescription::role) <= 1;
}
template <std::size_t kFields>
constexpr bool names_fit(const RecordDescription<kFields>& record) {
  std::size_t fields = 0;
  for (const FieldDescription& field : record.fields) fields += field.count;
  return record.version > 0 && is_schema_name(record.name) && fields <= kSchemaFieldsMax &&
         std::ranges::all_of(record.fields, is_field_name, &FieldDescription::name);
}
// Returns whether the fields, sorted by offset, cover the record without gaps or overlaps.
constexpr bool covers(std::span<const FieldDescription> fields, std::uint32_t record_bytes) {
  std::uint32_t end = 0;
  for (const FieldDescription& field : fields) {
    if (field.offset != end) return false;
    end = field.end();
  }
  return end == record_bytes;
}

}  // namespace detail
}  // namespace lapwing
