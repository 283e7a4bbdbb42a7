// A look at the machine between two measurements: the floors, and the clock everything is timed by.
//
// Thread safety: one thread; it is left pinned to the first core.
#pragma once

#include <string>

#include "bench/machine.h"

namespace lapwing::bench {

struct Probe {
  Placement placement;
  double line_ns = 0;
  double walk_ns = 0;
  double clock_ns = 0;       // what one look at ticks() costs
  double clock_step_ns = 0;  // the smallest step it was seen to make
  std::string clock;         // which one it is
};

// Under a second, in the straight placement.
Probe probe();

std::string to_json_line(const Probe& probe);

}  // namespace lapwing::bench
