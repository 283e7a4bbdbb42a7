// One way under paced load: from when a record is due until a busy reader in another process has
// read all of it. What the publisher is late by counts, so nothing is hidden by its own stalls.
//
// Over a bus, or over bare cache lines with no Lapwing in between: the same schedule, the same
// clock, the same records, the same loops on both sides. What the second shows is the machine's.
//
// Thread safety: one thread, which is left pinned to placement.first; each call makes its own child
// and its own memory.
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
  Curve curve{};                 // of the records' ages on arrival
  double slow_per_million = 0;   // older than kSlowNs
  double publisher_late_ns = 0;  // at most
  std::uint64_t lost = 0;        // and reported
  std::string fault;             // a broken promise: torn, out of order, unreported, too early

  double ns_at(double fraction) const;  // one of kCurveFractions
};

Passage over_bus(const Setting& setting, Placement placement, const Schedule& schedule);
// One line for each record, stamped when it is written, in a ring of as many as the bus has slots.
// The writer keeps from overrunning the reader, so none is lost.
Passage over_lines(const Setting& setting, Placement placement, const Schedule& schedule);

}  // namespace lapwing::bench
