// Checks whether a program with one description can read records that have another description.
//
// Thread safety: pure function.
#pragma once

#include <string>

#include "lapwing/schema.h"

namespace lapwing {

// Like mismatch(), but does not compare the names and version numbers of the two schemas. Empty if
// a program with `expected` can read records with `found`.
[[nodiscard]] std::string first_difference(const Schema& expected, const Schema& found);

}  // namespace lapwing
