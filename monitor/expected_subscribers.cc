#include "monitor/expected_subscribers.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

ExpectedState state_of(const std::vector<SubscriberStatus>& subscribers, const std::string& name) {
  ExpectedState state = ExpectedState::kAbsent;
  for (const SubscriberStatus& one : subscribers) {
    if (one.name != name || one.observes) continue;
    if (!one.is_missing()) return ExpectedState::kAttached;
    state = ExpectedState::kMissing;
  }
  return state;
}

std::string why_unknown(const BusReading& bus) {
  if (!bus.ring.ok()) return absl::StrCat("the bus cannot be read: ", bus.ring.status().message());
  if (bus.is_unanswered()) return std::string(bus.publisher.status().message());
  return absl::StrCat("its publisher is ", bus.state_text());
}

}  // namespace

std::vector<ExpectedReading> check_expected(const MachineReading& reading,
                                            const std::vector<ExpectedSubscriber>& expected) {
  std::vector<ExpectedReading> found;
  std::set<ExpectedSubscriber> seen;
  for (const ExpectedSubscriber& one : expected) {
    if (!seen.insert(one).second) continue;
    const auto bus = std::ranges::find(reading.buses, one.bus, &BusReading::label);
    if (bus == reading.buses.end()) {
      found.push_back({.expected = one, .why = "no bus with this label is known"});
    } else if (!bus->publisher.ok()) {
      found.push_back({.expected = one, .directory = bus->directory, .why = why_unknown(*bus)});
    } else {
      found.push_back({.expected = one,
                       .directory = bus->directory,
                       .state = state_of(bus->publisher->subscribers, one.name)});
    }
  }
  return found;
}

}  // namespace lapwing
