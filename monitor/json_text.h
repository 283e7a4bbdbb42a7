// JSON in the format that every command and the server use.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

namespace lapwing {

// One line, or several with an indent. ASCII only: all other characters in paths and names are
// escaped, and bytes that are not valid UTF-8 are replaced.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true,
                   nlohmann::ordered_json::error_handler_t::replace);
}

// Null for nullopt.
template <typename Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

// Null for `none`.
template <typename Value>
nlohmann::ordered_json or_null(const Value& value, const std::type_identity_t<Value>& none) {
  return value == none ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

}  // namespace lapwing
