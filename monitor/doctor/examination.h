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

// Its parts, by the subject that an operator would look for.
std::vector<Finding> check_kernel(const Machine& machine);      // kernel.cc
std::vector<Finding> check_processors(const Machine& machine);  // processors.cc
std::vector<Finding> check_memory(const Machine& machine);      // memory.cc
std::vector<Finding> check_limits(const Machine& machine);      // limits.cc
std::vector<Finding> check_disk(const Machine& machine);        // disk.cc: with a bus alone

}  // namespace lapwing
