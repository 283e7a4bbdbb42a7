// Tests whether an error message contains a text. Test code only.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lapwing {

inline bool says(const absl::Status& status, const std::string& words) {
  UNSCOPED_INFO(status.ToString());
  return status.message().find(words) != absl::string_view::npos;
}

}  // namespace lapwing
