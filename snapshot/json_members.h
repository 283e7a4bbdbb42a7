// Reads required members of a JSON object: `take` sets `out`, or returns false if the member is
// missing or has a different type.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "lapwing/sequence.h"

namespace lapwing {

inline bool take(const nlohmann::json& object, const char* key, std::string& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return false;
  out = found->get<std::string>();
  return true;
}

inline bool take(const nlohmann::json& object, const char* key, Id128& out) {
  std::string hex;
  if (!take(object, key, hex)) return false;
  const auto id = Id128::from_hex(hex);
  if (id) out = *id;
  return id.has_value();
}

inline bool take(const nlohmann::json& object, const char* key, bool& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_boolean()) return false;
  out = found->get<bool>();
  return true;
}

inline bool take(const nlohmann::json& object, const char* key, std::uint64_t& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return false;
  out = found->get<std::uint64_t>();
  return true;
}

inline bool take(const nlohmann::json& object, const char* key, std::uint32_t& out) {
  std::uint64_t wide = 0;
  if (!take(object, key, wide) || wide > UINT32_MAX) return false;
  out = static_cast<std::uint32_t>(wide);
  return true;
}

}  // namespace lapwing
