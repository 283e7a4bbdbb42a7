#include "monitor/http/histories.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "monitor/json_text.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();
// Readings may arrive slightly early or late.
constexpr std::uint64_t kStepSlackNs = kHistoryStepNs / 10;

std::string key_of(const SubscriberStatus& status) {
  return absl::StrCat(status.name, "/", status.pid, "/", status.connected_wall_ns);
}

float value_or_nothing(const std::optional<std::uint64_t>& value) {
  return value ? static_cast<float>(*value) : kNothing;
}

void append(std::string& json, const char* key, const std::deque<float>& column) {
  const auto number = [](std::string* text, float value) {
    *text += std::isnan(value) ? "null" : absl::StrFormat("%.7g", value);
  };
  absl::StrAppend(&json, ",\"", key, "\":[", absl::StrJoin(column, ",", number), "]");
}

}  // namespace

void Histories::add(const MachineReading& reading) {
  const std::lock_guard lock(mutex_);
  host_ = reading.host;
  if (reading.wall_ns < newest_wall_ns_) {
    buses_.clear();
    columns_ = 0;
  } else if (reading.wall_ns - newest_wall_ns_ + kStepSlackNs < kHistoryStepNs) {
    return;
  }
  newest_wall_ns_ = reading.wall_ns;
  std::erase_if(buses_, [&](const auto& entry) {
    const bool is_there = std::ranges::find(reading.buses, entry.first, &BusReading::directory) !=
                          reading.buses.end();
    if (!is_there) columns_ -= entry.second.subscribers.size();
    return !is_there;
  });
  for (const BusReading& bus : reading.buses) {
    const auto known = buses_.find(bus.directory);
    if (known == buses_.end() && buses_.size() >= kHistoryBusesMax) continue;
    add(known == buses_.end() ? buses_[bus.directory] : known->second, bus,
        reading.wall_ns / kNsPerMs);
  }
}

void Histories::add(Bus& bus, const BusReading& reading, std::uint64_t time_ms) {
  const std::uint64_t before_ms = bus.times_ms.empty() ? 0 : bus.times_ms.back();
  bus.times_ms.push_back(time_ms);
  ++bus.points;
  const bool has_ring = reading.ring.ok();
  bus.rate.push_back(has_ring ? static_cast<float>(reading.rate) : kNothing);
  bus.unarchived.push_back(has_ring ? value_or_nothing(reading.ring->unarchived()) : kNothing);
  bus.undurable.push_back(has_ring ? value_or_nothing(reading.ring->undurable()) : kNothing);
  float stalls_ms = kNothing;
  std::optional<std::uint64_t> sum_ns;
  if (has_ring && reading.ring->counts) sum_ns = reading.ring->counts->stalls.sum_ns;
  // A new publisher starts counting from 0.
  if (sum_ns && bus.stalls_sum_ns && *sum_ns >= *bus.stalls_sum_ns && time_ms > before_ms) {
    stalls_ms = static_cast<float>(static_cast<double>(*sum_ns - *bus.stalls_sum_ns) / 1e6 /
                                   (static_cast<double>(time_ms - before_ms) / 1e3));
  }
  bus.stalls_sum_ns = sum_ns;
  bus.stalls_ms.push_back(stalls_ms);
  add_subscribers(bus, reading);
  if (bus.times_ms.size() > kHistoryPointsMax) drop_oldest(bus);
  columns_ -= std::erase_if(bus.subscribers, [&](const auto& entry) {
    return bus.points - entry.second.newest >= kHistoryPointsMax;
  });
}

void Histories::add_subscribers(Bus& bus, const BusReading& reading) {
  const std::size_t before = bus.times_ms.size() - 1;
  if (reading.publisher.ok()) {
    for (const SubscriberStatus& one : reading.publisher->subscribers) {
      if (one.is_missing()) continue;
      const std::string key = key_of(one);
      auto known = bus.subscribers.find(key);
      if (known == bus.subscribers.end()) {
        if (bus.subscribers.size() >= kHistorySubscribersMax || columns_ >= kHistoryColumnsMax) {
          continue;
        }
        known = bus.subscribers.try_emplace(key).first;
        ++columns_;
        known->second.lag.assign(before, kNothing);
        known->second.delay_seconds.assign(before, kNothing);
        known->second.name = one.name;
        known->second.pid = one.pid;
        known->second.connected_wall_ns = one.connected_wall_ns;
        known->second.observes = one.observes;
      }
      Subscriber& subscriber = known->second;
      subscriber.newest = bus.points;
      subscriber.lag.push_back(static_cast<float>(one.observed.lag));
      subscriber.delay_seconds.push_back(static_cast<float>(seconds_of(one.observed.delay_ns)));
      if (one.latency) note_ages(bus, subscriber, *one.latency);
    }
  }
  for (auto& [key, subscriber] : bus.subscribers) {
    if (subscriber.newest == bus.points) continue;
    subscriber.lag.push_back(kNothing);
    subscriber.delay_seconds.push_back(kNothing);
  }
}

// Adds the counts since the previous point.
void Histories::note_ages(Bus& bus, Subscriber& subscriber, const Latency& latency) {
  if (!subscriber.ages) {
    const auto heats = std::ranges::count_if(
        bus.subscribers, [](const auto& entry) { return entry.second.ages.has_value(); });
    if (static_cast<std::size_t>(heats) >= kHistoryHeatsMax) return;
    subscriber.ages = latency.age_ns;
    return;
  }
  HeatCounts counts;
  const auto before = subscriber.ages->counts();
  const auto now = latency.age_ns.counts();
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] <= before[i]) continue;
    const bool is_last = i + 1 == now.size();
    counts.emplace_back(is_last ? latency.age_ns.max() : AgeHistogram::last_of(i),
                        now[i] - before[i]);
  }
  subscriber.ages = latency.age_ns;
  if (!counts.empty()) subscriber.heat.emplace_back(bus.points, std::move(counts));
}

void Histories::drop_oldest(Bus& bus) {
  bus.times_ms.pop_front();
  for (Column* const column : {&bus.rate, &bus.unarchived, &bus.undurable, &bus.stalls_ms}) {
    column->pop_front();
  }
  const std::uint64_t oldest = bus.points - bus.times_ms.size() + 1;
  for (auto& [key, subscriber] : bus.subscribers) {
    subscriber.lag.pop_front();
    subscriber.delay_seconds.pop_front();
    while (!subscriber.heat.empty() && subscriber.heat.front().first < oldest) {
      subscriber.heat.pop_front();
    }
  }
}

std::optional<std::string> Histories::json(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  const auto found = buses_.find(directory);
  if (found == buses_.end()) return std::nullopt;
  const Bus& bus = found->second;
  std::string json = absl::StrCat("\"host\":", json_text(nlohmann::ordered_json(host_)),
                                  ",\"directory\":", json_text(nlohmann::ordered_json(directory)),
                                  ",\"times_ms\":[", absl::StrJoin(bus.times_ms, ","), "]");
  append(json, "rate", bus.rate);
  append(json, "unarchived", bus.unarchived);
  append(json, "undurable", bus.undurable);
  append(json, "stalls_ms", bus.stalls_ms);
  absl::StrAppend(&json, ",\"subscribers\":[");
  const std::uint64_t oldest = bus.points - bus.times_ms.size() + 1;
  const auto count = [](std::string* text, const auto& bucket) {
    absl::StrAppend(text, "[", bucket.first, ",", bucket.second, "]");
  };
  const auto heat = [&](std::string* text, const auto& entry) {
    absl::StrAppend(text, "[", entry.first - oldest, ",[", absl::StrJoin(entry.second, ",", count),
                    "]]");
  };
  const char* separator = "";
  for (const auto& [key, subscriber] : bus.subscribers) {
    absl::StrAppend(&json, std::exchange(separator, ","),
                    "{\"name\":", json_text(nlohmann::ordered_json(subscriber.name)),
                    ",\"pid\":", subscriber.pid, ",\"connected_ns\":", subscriber.connected_wall_ns,
                    ",\"observes\":", subscriber.observes ? "true" : "false");
    append(json, "lag", subscriber.lag);
    append(json, "delay_seconds", subscriber.delay_seconds);
    absl::StrAppend(&json, ",\"heat\":[", absl::StrJoin(subscriber.heat, ",", heat), "]}");
  }
  absl::StrAppend(&json, "]");
  return json;
}

}  // namespace lapwing
