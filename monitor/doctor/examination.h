// Everything that `lapwing doctor` has to say of a machine.
//
// Thread safety: a free function; it reads files, and tries io_uring, membarrier and direct I/O.
#pragma once

#include <vector>

#include "monitor/doctor/finding.h"
#include "monitor/doctor/machine.h"

namespace lapwing {

// In an order that does not change.
std::vector<Finding> examine(const Machine& machine);

}  // namespace lapwing
