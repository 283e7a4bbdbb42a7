// Whether records of one description can be read by another one.
//
// Thread safety: pure function.
#pragma once

#include <string>

#include "lapwing/schema.h"

namespace lapwing {

// mismatch() without the names and the version numbers of the two schemas, which are not compared.
// Empty if a program that knows `expected` can read records of `found`.
[[nodiscard]] std::string first_difference(const Schema& expected, const Schema& found);

}  // namespace lapwing
