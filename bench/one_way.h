// One way under paced load: from when a record is due until a busy reader in another process has
// read it completely. Delays of the publisher are included, so its own stalls are not hidden.
//
// Over a bus, or over bare cache lines without Lapwing: with the same schedule, clock, records and
// loops on both sides. The second shows the machine's share.
//
// Thread safety: one thread, which stays pinned to placement.first. Each call creates its own child
// and memory.
#pragma once

#include <cstdint>
#include <string>

#include "bench/machine.h"
#include "bench/pace.h"
#include "bench/rows.h"
#include "bench/samples.h"

namespace lapwing::bench {

inline constexpr double kSlowNs = 10'000;

struct Passage {
  Curve curve{};                 // ages of the records on arrival
  double slow_per_million = 0;   // older than kSlowNs
  double publisher_late_ns = 0;  // maximum
  std::uint64_t lost = 0;        // reported as lost
  std::string fault;             // broken promise: torn, out of order, unreported, too early

  double ns_at(double fraction) const;  // one of kCurveFractions
};

Passage over_bus(const Setting& setting, Placement placement, const Schedule& schedule);
// One line per record, stamped when it is written, in a ring with as many lines as the bus has
// slots. The writer does not overrun the reader, so no line is lost.
Passage over_lines(const Setting& setting, Placement placement, const Schedule& schedule);

}  // namespace lapwing::bench
