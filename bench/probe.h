// A probe of the machine between two measurements: the floors, and the clock used for timing.
//
// Thread safety: one thread, which stays pinned to the first core.
#pragma once

#include <string>

#include "bench/machine.h"

namespace lapwing::bench {

struct Probe {
  Placement placement;
  double line_ns = 0;
  double walk_ns = 0;
  double clock_ns = 0;       // cost of one call of ticks()
  double clock_step_ns = 0;  // smallest observed step
  std::string clock;         // name of the clock source
};

// Takes less than a second, and uses the straight placement.
Probe probe();

std::string to_json_line(const Probe& probe);

}  // namespace lapwing::bench
