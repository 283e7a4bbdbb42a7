// Integers in keys: big-endian, so that memcmp sorts them as numbers.
//
// Thread safety: pure functions.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lapwing {

// Reverses the bytes of a little-endian number, in both directions.
template <std::unsigned_integral Number>
Number swap_bytes(Number number) {
  static_assert(std::endian::native == std::endian::little);
  if constexpr (sizeof(Number) == 1) return number;
  if constexpr (sizeof(Number) == 2) return __builtin_bswap16(number);
  if constexpr (sizeof(Number) == 4) return __builtin_bswap32(number);
  if constexpr (sizeof(Number) == 8) return __builtin_bswap64(number);
}

// Writes the sizeof(Number) bytes of `number` to `target`.
template <std::unsigned_integral Number>
void write_big_endian(Number number, void* target) {
  const Number swapped = swap_bytes(number);
  std::memcpy(target, &swapped, sizeof swapped);
}

template <std::unsigned_integral Number>
Number read_big_endian(const void* source) {
  Number number;
  std::memcpy(&number, source, sizeof number);
  return swap_bytes(number);
}

}  // namespace lapwing
