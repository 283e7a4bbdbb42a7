// kv16: the smallest useful record, two 64-bit words, in 32-byte slots.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::kv16 {

struct Record {
  std::uint64_t key;
  std::uint64_t value;
};
static_assert(sizeof(Record) == 16);
static_assert(offsetof(Record, value) == 8);

inline constexpr char kSchema[] = "kv16";

}  // namespace lapwing::kv16
