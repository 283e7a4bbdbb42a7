// The key of a record by its description: the fields of the role `key` end to end, in the order of
// the record. Keys sort by memcmp as their fields do: integers big-endian, the sign's bit turned
// over; texts and bytes as they are. (Floating-point numbers are told apart, and sort by their
// bits.)
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
  // No field of a key: key_bytes() is 0.
  explicit KeyFields(const Schema& schema);

  std::uint32_t key_bytes() const { return key_bytes_; }
  // Writes key_bytes() bytes. The record has the size of the schema's.
  void write(std::span<const std::byte> record, std::byte* key) const;

 private:
  struct Part {
    std::uint32_t offset;
    std::uint32_t bytes;
    bool is_number;
    std::byte sign;  // turned over in the first byte of the key
  };
  std::vector<Part> parts_;
  std::uint32_t key_bytes_ = 0;
};

}  // namespace lapwing
