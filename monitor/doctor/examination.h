// The findings of `lapwing doctor` about a machine.
//
// Thread safety: free functions; they read files and try io_uring, membarrier and direct I/O.
#pragma once

#include <vector>

#include "monitor/doctor/finding.h"
#include "monitor/doctor/machine.h"

namespace lapwing {

// Returns all findings, in a fixed order.
std::vector<Finding> examine(const Machine& machine);

// The parts of examine(), by subject.
std::vector<Finding> check_kernel(const Machine& machine);      // kernel.cc
std::vector<Finding> check_processors(const Machine& machine);  // processors.cc
std::vector<Finding> check_memory(const Machine& machine);      // memory.cc
std::vector<Finding> check_limits(const Machine& machine);      // limits.cc
std::vector<Finding> check_disk(const Machine& machine);        // disk.cc: only with a bus

}  // namespace lapwing
