// Integers in keys: big-endian, so that memcmp sorts them as numbers.
//
// Thread safety: pure functions.
#pragma once

#include <concepts>
#include <cstddef>

namespace lapwing {

// Writes the sizeof(Number) bytes of `number` to `target`.
template <std::unsigned_integral Number>
void write_big_endian(Number number, std::byte* target) {
  for (std::size_t i = sizeof(Number); i > 0; --i) {
    target[i - 1] = static_cast<std::byte>(number & 0xff);
    number = static_cast<Number>(number >> 7 >> 1);  // in two steps: a byte has no bit 8
  }
}

template <std::unsigned_integral Number>
Number read_big_endian(const std::byte* source) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number << 7 << 1 | std::to_integer<Number>(source[i]));
  }
  return number;
}

}  // namespace lapwing
