// The key of a record according to its description: the fields with the role `key`, concatenated in
// record order. Keys sort by memcmp as their fields do: integers are big-endian with an inverted
// sign bit; texts and bytes are unchanged. (Floating-point numbers are distinguished, but they sort
// by their bits.)
//
// Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lapwing/schema.h"

namespace lapwing {

class KeyFields {
 public:
  // key_bytes() is 0 if the schema has no key field.
  explicit KeyFields(const Schema& schema);

  std::uint32_t key_bytes() const { return key_bytes_; }
  // Writes key_bytes() bytes. The record must have the size given in the schema.
  void write(std::span<const std::byte> record, std::byte* key) const;

 private:
  struct Part {
    std::uint32_t offset;
    std::uint32_t bytes;
    bool is_number;
    std::byte sign;  // inverted in the field's first byte in the key
  };
  std::vector<Part> parts_;
  std::uint32_t key_bytes_ = 0;
};

}  // namespace lapwing
