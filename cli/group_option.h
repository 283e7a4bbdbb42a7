// The option --group: a group of this machine, by name or number.
//
// Thread safety: main's thread.
#pragma once

#include <grp.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing::cli {

// Nullopt if no group is given. Errors: kInvalidArgument.
inline absl::StatusOr<std::optional<unsigned>> find_group(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (unsigned number = 0; absl::SimpleAtoi(name, &number)) return number;
  if (const group* entry = getgrnam(name.c_str()); entry != nullptr) return entry->gr_gid;
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat(name,
                   " is not a group of this machine; give the name or number of an existing one"));
}

}  // namespace lapwing::cli
