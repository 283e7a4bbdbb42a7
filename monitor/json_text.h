// JSON as every command and the server write it.
//
// Thread safety: a pure function.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lapwing {

// One line, or with an indent several. In ASCII: what a path or a name has besides is escaped, and
// bytes that are no text are replaced.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace lapwing
