// The checks of `lapwing doctor`: each looks at one property of a machine and says what it does to a
// bus. Grouped as a person would look for them.
//
// Thread safety: pure functions of the machine.
#pragma once

#include <vector>

#include "monitor/doctor/finding.h"
#include "monitor/doctor/machine.h"

namespace lapwing {

std::vector<Finding> check_kernel(const Machine& machine);      // kernel.cc
std::vector<Finding> check_processors(const Machine& machine);  // processors.cc
std::vector<Finding> check_memory(const Machine& machine);      // memory.cc
std::vector<Finding> check_limits(const Machine& machine);      // limits.cc
std::vector<Finding> check_disk(const Machine& machine);        // disk.cc: with a bus alone

}  // namespace lapwing
