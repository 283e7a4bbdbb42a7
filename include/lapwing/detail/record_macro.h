// LAPWING_RECORD and its helper macros.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "lapwing/detail/record_description.h"

// Describes a struct, in the namespace that declares it. The arguments are the schema's name, its
// version, and each member. A member may be in parentheses with a role (kTime, kKey, kPublishTime,
// kSpare), a unit (kPrice, kUtcNs, kFlags), or an array of lapwing::NamedValue that names its
// values.
#define LAPWING_RECORD(Record, schema_name, schema_version, ...)                                 \
  constexpr auto lapwing_record(const Record*) {                                                 \
    using enum ::lapwing::FieldRole;                                                             \
    using enum ::lapwing::FieldUnit;                                                             \
    using LapwingRecord = Record;                                                                \
    return ::lapwing::detail::describe<Record>(                                                  \
        schema_name, schema_version,                                                             \
        std::array{LAPWING_DETAIL_EXPAND(LAPWING_DETAIL_FIELDS(__VA_ARGS__))});                  \
  }                                                                                              \
  static_assert(std::is_trivially_copyable_v<Record> && std::is_standard_layout_v<Record>,       \
                #Record " cannot be a record: it is not a plain struct");                        \
  static_assert(sizeof(Record) >= ::lapwing::detail::kDescribedBytesMin &&                       \
                    sizeof(Record) <= ::lapwing::detail::kDescribedBytesMax,                     \
                #Record " cannot be a record: a record has 8 to 4,088 bytes");                   \
  static_assert(::lapwing::detail::names_fit(LAPWING_DETAIL_DESCRIPTION(Record)), #Record        \
                ": the name of a schema has 1 to 31 printable letters, and its version is "      \
                "at least 1. A field is a direct member of the struct. Its name has at "         \
                "most 63 letters, and there are at most 512 fields");                            \
  static_assert(                                                                                 \
      ::lapwing::detail::covers(LAPWING_DETAIL_DESCRIPTION(Record).fields, sizeof(Record)),      \
      #Record                                                                                    \
      " has a member that is missing from the list or listed twice, or it has "                  \
      "padding. Declare padding as a member and mark it kSpare");                                \
  static_assert(::lapwing::detail::units_fit(LAPWING_DETAIL_DESCRIPTION(Record).fields), #Record \
                ": kPrice requires std::int64_t, a time requires std::uint64_t, and "            \
                "kFlags requires an unsigned integer");                                          \
  static_assert(::lapwing::detail::times_are_times(LAPWING_DETAIL_DESCRIPTION(Record).fields),   \
                #Record                                                                          \
                ": kTime and kPublishTime are UTC ns, cannot be arrays, and occur at most once")

#define LAPWING_DETAIL_DESCRIPTION(Record) lapwing_record(static_cast<const Record*>(nullptr))

#define LAPWING_DETAIL_FIELDS(field, ...) \
  LAPWING_DETAIL_FIELD(field)             \
  __VA_OPT__(, LAPWING_DETAIL_FIELDS_AGAIN LAPWING_DETAIL_NO_ARGUMENTS(__VA_ARGS__))
#define LAPWING_DETAIL_FIELDS_AGAIN() LAPWING_DETAIL_FIELDS
#define LAPWING_DETAIL_NO_ARGUMENTS ()

// `name`, or `(name, options)`.
#define LAPWING_DETAIL_FIELD(field) \
  LAPWING_DETAIL_JOIN(LAPWING_DETAIL_FIELD_, LAPWING_DETAIL_IS_IN_PARENTHESES(field))(field)
#define LAPWING_DETAIL_FIELD_0(name)                                      \
  ::lapwing::detail::describe_field<decltype(LapwingRecord::name)>(#name, \
                                                                   offsetof(LapwingRecord, name))
#define LAPWING_DETAIL_FIELD_1(field) LAPWING_DETAIL_FIELD_WITH field
#define LAPWING_DETAIL_FIELD_WITH(name, ...) \
  ::lapwing::detail::with(LAPWING_DETAIL_FIELD_0(name) __VA_OPT__(, ) __VA_ARGS__)

#define LAPWING_DETAIL_IS_IN_PARENTHESES(field) \
  LAPWING_DETAIL_SECOND_OF(LAPWING_DETAIL_PROBE field, 0, 0)
#define LAPWING_DETAIL_PROBE(...) 0, 1
#define LAPWING_DETAIL_SECOND_OF(...) LAPWING_DETAIL_SECOND(__VA_ARGS__)
#define LAPWING_DETAIL_SECOND(first, second, ...) second
#define LAPWING_DETAIL_JOIN(left, right) LAPWING_DETAIL_JOIN_NOW(left, right)
#define LAPWING_DETAIL_JOIN_NOW(left, right) left##right

// The preprocessor rescans its result once for each level, which is enough for 340 members.
#define LAPWING_DETAIL_EXPAND(...) \
  LAPWING_DETAIL_EXPAND_4(         \
      LAPWING_DETAIL_EXPAND_4(LAPWING_DETAIL_EXPAND_4(LAPWING_DETAIL_EXPAND_4(__VA_ARGS__))))
#define LAPWING_DETAIL_EXPAND_4(...) \
  LAPWING_DETAIL_EXPAND_3(           \
      LAPWING_DETAIL_EXPAND_3(LAPWING_DETAIL_EXPAND_3(LAPWING_DETAIL_EXPAND_3(__VA_ARGS__))))
#define LAPWING_DETAIL_EXPAND_3(...) \
  LAPWING_DETAIL_EXPAND_2(           \
      LAPWING_DETAIL_EXPAND_2(LAPWING_DETAIL_EXPAND_2(LAPWING_DETAIL_EXPAND_2(__VA_ARGS__))))
#define LAPWING_DETAIL_EXPAND_2(...) \
  LAPWING_DETAIL_EXPAND_1(           \
      LAPWING_DETAIL_EXPAND_1(LAPWING_DETAIL_EXPAND_1(LAPWING_DETAIL_EXPAND_1(__VA_ARGS__))))
#define LAPWING_DETAIL_EXPAND_1(...) __VA_ARGS__
