// A number with which the publish path recognises the type of a record in one comparison.
//
// Thread safety: constants.
#pragma once

#include <cstdint>
#include <string_view>

#include "lapwing/detail/record_description.h"

namespace lapwing::detail {

// Above every record size, so that a description's tag never equals a size.
inline constexpr std::uint32_t kDescribedTag = std::uint32_t{1} << 31;

// FNV-1a.
class TagHash {
 public:
  constexpr void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte, value >>= 8) mix(static_cast<std::uint8_t>(value));
  }
  constexpr void add(std::string_view text) {
    for (const char letter : text) mix(static_cast<std::uint8_t>(letter));
    mix(0);
  }
  constexpr std::uint32_t value() const { return hash_; }

 private:
  constexpr void mix(std::uint8_t byte) { hash_ = (hash_ ^ byte) * 16'777'619U; }
  std::uint32_t hash_ = 2'166'136'261U;
};

// True for a struct with its own LAPWING_RECORD, not only that of a base class.
template <typename Record>
consteval bool has_own_description() {
  if constexpr (requires(const Record* record) { lapwing_record(record); }) {
    return lapwing_record(static_cast<const Record*>(nullptr)).record_bytes == sizeof(Record);
  } else {
    return false;
  }
}

// Returns the size of a struct that has no description, else kDescribedTag and a hash of the
// description.
template <typename Record>
consteval std::uint32_t record_tag() {
  if constexpr (has_own_description<Record>()) {
    constexpr auto description = lapwing_record(static_cast<const Record*>(nullptr));
    TagHash hash;
    hash.add(description.name);
    hash.add(description.version);
    hash.add(description.record_bytes);
    for (const FieldDescription& field : description.fields) {
      hash.add(field.name);
      hash.add(static_cast<std::uint64_t>(field.type));
      hash.add(field.offset);
      hash.add(field.bytes);
      hash.add(field.count);
      hash.add(field.is_array ? 1U : 0U);
      hash.add(static_cast<std::uint64_t>(field.unit));
      hash.add(static_cast<std::uint64_t>(field.role));
      for (const NamedValue& value : field.values) {
        hash.add(value.name);
        hash.add(static_cast<std::uint64_t>(value.value));
      }
    }
    return kDescribedTag | hash.value();
  } else {
    static_assert(sizeof(Record) < kDescribedTag);
    return sizeof(Record);
  }
}

}  // namespace lapwing::detail
