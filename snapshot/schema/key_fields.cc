#include "snapshot/schema/key_fields.h"

#include <algorithm>
#include <bit>

#include "snapshot/schema/field_reader.h"

namespace lapwing {

KeyFields::KeyFields(const Schema& schema) {
  static_assert(std::endian::native == std::endian::little);
  for (const Field& field : schema.fields) {
    if (field.role != FieldRole::kKey) continue;
    const bool is_text = field.type == FieldType::kText || field.type == FieldType::kBytes;
    parts_.push_back({field.offset, field.bytes, !is_text,
                      is_signed(field.type) ? std::byte{0x80} : std::byte{0}});
    key_bytes_ += field.bytes;
  }
}

void KeyFields::write(std::span<const std::byte> record, std::byte* key) const {
  for (const Part& part : parts_) {
    const auto field = record.subspan(part.offset, part.bytes);
    if (part.is_number) {
      std::ranges::reverse_copy(field, key);
    } else {
      std::ranges::copy(field, key);
    }
    *key ^= part.sign;
    key += part.bytes;
  }
}

}  // namespace lapwing
