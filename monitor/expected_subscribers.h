// Subscribers that an operator expects to be attached, each by the label of its bus and its name.
//
// Thread safety: values and a free function.
#pragma once

#include <string>
#include <vector>

#include "lapwing/detail/enum_names.h"
#include "monitor/machine_monitor.h"

namespace lapwing {

struct ExpectedSubscriber {
  std::string bus;  // its label (bus_labels.h)
  std::string name;

  auto operator<=>(const ExpectedSubscriber&) const = default;
};

enum class ExpectedState {
  kAttached = 1,
  kMissing = 2,  // it was attached when the last session ended
  kAbsent = 3,
  kUnknown = 4,  // no bus has that label, or its publisher could not be queried
};

// Stable identifiers.
constexpr const char* name_of(ExpectedState state) {
  constexpr detail::EnumName<ExpectedState> kNames[] = {{ExpectedState::kAttached, "attached"},
                                                        {ExpectedState::kMissing, "missing"},
                                                        {ExpectedState::kAbsent, "absent"}};
  return detail::name_in(kNames, state);
}

struct ExpectedReading {
  ExpectedSubscriber expected;
  std::string directory = {};  // of the bus; empty: no bus has that label
  ExpectedState state = ExpectedState::kUnknown;
  std::string why = {};  // for kUnknown
};

// Returns one for each expected subscriber, without duplicates, even if its bus is unknown.
std::vector<ExpectedReading> check_expected(const MachineReading& reading,
                                            const std::vector<ExpectedSubscriber>& expected);

}  // namespace lapwing
