// Text in a fixed field of a layout.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace lapwing {

// Stores text in a fixed field: zero-padded, always zero-terminated, and truncated if it does not
// fit.
template <std::size_t kBytes>
void set_text(char (&field)[kBytes], std::string_view text) {
  std::memset(field, 0, kBytes);
  std::memcpy(field, text.data(), text.size() < kBytes ? text.size() : kBytes - 1);
}

template <std::size_t kBytes>
std::string get_text(const char (&field)[kBytes]) {
  return std::string(field, strnlen(field, kBytes));
}

}  // namespace lapwing
