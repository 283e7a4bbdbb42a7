// Identifiers that processes share: sequences and random 128-bit ids.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lapwing {

// A record's number on the bus: 1, 2, 3 …; 0 is never a record.
using Sequence = std::uint64_t;
inline constexpr Sequence kNoSequence = 0;
inline constexpr Sequence kSequenceMax = (Sequence{1} << 63) - 1;  // its stamp, 2n, fits in a word

// A random 128-bit identifier of a journal, a session (one run of a publisher) or a boot.
struct Id128 {
  std::array<std::uint8_t, 16> bytes{};

  friend auto operator<=>(const Id128&, const Id128&) = default;

  bool is_zero() const { return *this == Id128{}; }

  // 32 lower-case hexadecimal digits.
  std::string hex() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(32);
    for (const std::uint8_t byte : bytes) {
      text.push_back(kDigits[byte >> 4]);
      text.push_back(kDigits[byte & 15]);
    }
    return text;
  }

  // Returns the id whose hex() is `text`, or nullopt for any other text.
  static std::optional<Id128> from_hex(std::string_view text) {
    Id128 id;
    if (text.size() != 2 * id.bytes.size()) return std::nullopt;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char digit = text[i];
      const bool letter = digit >= 'a' && digit <= 'f';
      if (!letter && (digit < '0' || digit > '9')) return std::nullopt;
      const int value = letter ? digit - 'a' + 10 : digit - '0';
      id.bytes[i / 2] = static_cast<std::uint8_t>(id.bytes[i / 2] << 4 | value);
    }
    return id;
  }
};
static_assert(sizeof(Id128) == 16);

}  // namespace lapwing
