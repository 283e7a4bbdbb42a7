// The query of a request for a view.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lapwing {

inline constexpr std::size_t kViewInstrumentBytesMax = 256;

struct ViewQuery {
  std::string bus;         // a directory or a name
  std::string instrument;  // empty: none was named
};

// Parses a target such as "/api/v1/view?bus=es&instrument=ESH4", in form encoding. Errors:
// kInvalidArgument.
absl::StatusOr<ViewQuery> parse_view_query(absl::string_view target);

}  // namespace lapwing
