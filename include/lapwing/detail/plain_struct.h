// Plain structs as bytes, and back.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>

namespace lapwing::detail {

// A struct whose value is its bytes. Views are excluded, because their bytes contain an address.
template <typename Struct>
concept PlainStruct =
    std::is_class_v<Struct> && std::is_trivially_copyable_v<Struct> && !std::is_const_v<Struct> &&
    !std::ranges::view<Struct> && !std::convertible_to<const Struct&, std::span<const std::byte>>;

template <PlainStruct Struct>
std::span<const std::byte> bytes_of(const Struct& plain) {
  return std::as_bytes(std::span(&plain, 1));
}

// Returns nullopt if the number of bytes differs.
template <PlainStruct Struct>
std::optional<Struct> copy_as(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(Struct)) return std::nullopt;
  std::array<std::byte, sizeof(Struct)> copy;
  std::memcpy(&copy, bytes.data(), sizeof copy);
  return std::bit_cast<Struct>(copy);
}

}  // namespace lapwing::detail
