#include "relay/in/asks.h"

#include <algorithm>

namespace lapwing {

void Asks::sent(RelayAskId id, const RelayAsk& ask, std::uint64_t now_ns) {
  in_flight_[id] = {ask, now_ns + wait_ns(ask)};
}

const RelayAsk* Asks::find(RelayAskId id) const {
  if (const auto found = in_flight_.find(id); found != in_flight_.end()) return &found->second.ask;
  const auto late = late_.find(id);
  return late == late_.end() ? nullptr : &late->second;
}

void Asks::progress(RelayAskId id, std::uint64_t now_ns) {
  const auto found = in_flight_.find(id);
  if (found != in_flight_.end()) found->second.until_ns = now_ns + wait_ns(found->second.ask);
}

std::optional<Asks::Finished> Asks::finish(RelayAskId id) {
  if (const auto found = in_flight_.find(id); found != in_flight_.end()) {
    const Finished finished{found->second.ask, false};
    in_flight_.erase(found);
    return finished;
  }
  const auto late = late_.find(id);
  if (late == late_.end()) return std::nullopt;
  const Finished finished{late->second, true};
  late_.erase(late);
  return finished;
}

std::vector<RelayAsk> Asks::expired(std::uint64_t now_ns) {
  std::vector<RelayAsk> asks;
  std::erase_if(in_flight_, [&](const auto& each) {
    if (each.second.until_ns > now_ns) return false;
    asks.push_back(each.second.ask);
    late_[each.first] = each.second.ask;
    return true;
  });
  while (late_.size() > kLateMax) late_.erase(late_.begin());
  return asks;
}

void Asks::forget(RelayRequest request) {
  std::erase_if(in_flight_, [&](const auto& each) { return each.second.ask.request == request; });
}

std::vector<RelayAsk> Asks::lost() {
  std::vector<RelayAsk> asks;
  for (const auto& [id, each] : in_flight_) asks.push_back(each.ask);
  in_flight_.clear();
  late_.clear();
  return asks;
}

std::optional<std::uint64_t> Asks::next_due_ns() const {
  const auto first = std::min_element(
      in_flight_.begin(), in_flight_.end(),
      [](const auto& a, const auto& b) { return a.second.until_ns < b.second.until_ns; });
  if (first == in_flight_.end()) return std::nullopt;
  return first->second.until_ns;
}

}  // namespace lapwing
