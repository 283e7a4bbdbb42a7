#include "cli/say.h"

#include <iostream>

#include "absl/strings/str_cat.h"

namespace lapwing::cli {

void say(const std::string& line) {
  std::cerr << absl::StrCat("lapwing: ", printable(line), "\n");
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace lapwing::cli
