#include "monitor/metrics/bus_metrics.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "monitor/bus_labels.h"
#include "monitor/metrics/exposition.h"
#include "os/printable.h"

namespace lapwing {
namespace {

constexpr char kOther[] = "other";

// Makes names unique: a repeated name gets #2, #3 and so on. Names beyond kNamesMax are merged into
// `other`.
class Names {
 public:
  std::string name(const std::string& wanted) {
    if (taken_.size() >= kNamesMax) return kOther;
    // Names with different bytes may look the same when printed.
    const std::string first = printable(wanted);
    return free_name(first == kOther ? absl::StrCat(first, "#1") : first, taken_);
  }

 private:
  std::set<std::string> taken_;
};

// Adds one series for each state in the table.
template <typename Table, typename State>
void add_states(Exposition& exposition, const Scope& scope, std::vector<std::string> labels,
                const Table& table, State state) {
  labels.emplace_back();
  for (const auto& each : table) {
    labels.back() = each.name;
    exposition.add(scope, labels, {.number = each.value == state ? 1.0 : 0.0});
  }
}

void add_clients(Exposition& exposition, const std::string& bus, const PublisherStatus& publisher) {
  for (std::size_t i = 0; i < publisher.clients_by_reason.size(); ++i) {
    const auto reason = static_cast<DropReason>(i + 1);
    exposition.add(is_refusal(reason) ? scope::kRefused : scope::kDropped, {bus, name_of(reason)},
                   {.number = static_cast<double>(publisher.clients_by_reason[i])});
  }
}

// Merges a subscriber beyond kNamesMax into the others: adds counts, and keeps the worst of all
// other values.
void add_to_others(SubscriberStatus& others, const SubscriberStatus& one) {
  others.position = std::min(others.position, one.position);
  others.records += one.records;
  others.gaps += one.gaps;
  others.lost += one.lost;
  others.filled += one.filled;
  Observed& worst = others.observed;
  worst.lag = std::max(worst.lag, one.observed.lag);
  worst.delay_ns = std::max(worst.delay_ns, one.observed.delay_ns);
  worst.report_age_ns = std::max(worst.report_age_ns, one.observed.report_age_ns);
}

void add_up(Exposition& exposition, const std::vector<std::string>& labels, bool is_up) {
  exposition.add(scope::kSubscriberUp, labels, {.number = is_up ? 1.0 : 0.0});
}

// `labels`: the subscriber's bus and name.
void add_subscriber(Exposition& exposition, const std::vector<std::string>& labels,
                    const SubscriberStatus& status) {
  exposition.add(
      scope::kSubscriberInfo,
      {labels[0], labels[1], absl::StrCat(status.pid), absl::StrCat(status.uid),
       status.wait ? name_of(*status.wait) : "", status.on_gap ? name_of(*status.on_gap) : ""},
      {});
  add_states(exposition, scope::kSubscriberState, labels, kClientStateNames, status.state);
  exposition.add(scope::kSubscriberLatency, labels, {.subscriber = &status});
  add_up(exposition, labels, !status.is_missing());
  if (!status.is_missing()) exposition.add(scope::kSubscriber, labels, {.subscriber = &status});
}

// `expected`: names on this bus.
void add_subscribers(Exposition& exposition, const std::string& bus,
                     const PublisherStatus& publisher, const std::set<std::string>& expected) {
  std::vector<const SubscriberStatus*> oldest_first;
  for (const SubscriberStatus& one : publisher.subscribers) {
    if (!one.observes) oldest_first.push_back(&one);
  }
  std::ranges::stable_sort(oldest_first, {}, &SubscriberStatus::connected_wall_ns);
  // Expected subscribers keep their names, regardless of which subscribers attached before them.
  std::ranges::stable_partition(
      oldest_first, [&](const SubscriberStatus* one) { return expected.contains(one->name); });
  Names names;
  std::optional<SubscriberStatus> others;
  for (const SubscriberStatus* one : oldest_first) {
    const std::string name = names.name(one->name);
    if (name != kOther) {
      add_subscriber(exposition, {bus, name}, *one);
    } else if (others && !one->is_missing()) {
      add_to_others(*others, *one);
    } else if (!one->is_missing()) {
      others = *one;
    }
  }
  if (!others) return;
  add_up(exposition, {bus, kOther}, true);
  exposition.add(scope::kSubscriber, {bus, kOther}, {.subscriber = &*others});
}

void add_bus(Exposition& exposition, const BusReading& bus, const MetricsOptions& options) {
  const std::string& name = bus.label;
  exposition.add(scope::kBus, {name}, {.bus = &bus});
  exposition.add(scope::kBusInfo, {name, bus.description.schema, bus.description.journal_writer},
                 {});
  if (bus.ring.ok()) {
    add_states(exposition, scope::kJournalState, {name}, kJournalStateNames,
               bus.ring->journal.state);
  }
  if (bus.publisher.ok()) {
    std::set<std::string> expected;
    for (const ExpectedSubscriber& one : options.expected) {
      if (one.bus == name) expected.insert(one.name);
    }
    add_clients(exposition, name, *bus.publisher);
    add_subscribers(exposition, name, *bus.publisher, expected);
  }
  for (const CheckpointStatus& checkpoint : bus.checkpoints) {
    exposition.add(scope::kCheckpoint, {name, checkpoint.fold},
                   {.bus = &bus, .checkpoint = &checkpoint});
  }
}

const ChannelSideStatus* side_of(const ChannelStatus& channel, pid_t pid) {
  const auto found = std::ranges::find(channel.sides, pid, &ChannelSideStatus::pid);
  return found == channel.sides.end() ? nullptr : &*found;
}

void add_direction(ChannelSums& sums, const ChannelDirectionStatus& direction,
                   const ChannelSideStatus* sender, const ChannelSideStatus* receiver) {
  sums.sent.messages += direction.sent.messages;
  sums.sent.frame_bytes += direction.sent.frame_bytes;
  sums.in_flight.messages += direction.in_flight.messages;
  sums.in_flight.frame_bytes += direction.in_flight.frame_bytes;
  if (sender != nullptr) sums.full_waits += sender->full_waits;
  if (receiver != nullptr) sums.empty_waits += receiver->empty_waits;
  sums.stopped |=
      (sender != nullptr && sender->stopped) || (receiver != nullptr && receiver->stopped);
}

void add_channels(Exposition& exposition, const ChannelList& list) {
  using Key = std::pair<std::string, std::string>;  // channel, sender
  std::map<Key, ChannelSums> sums;
  std::map<Key, std::uint64_t> equal;
  for (const ChannelStatus& channel : list.channels) {
    for (const ChannelDirectionStatus& direction : channel.directions) {
      const ChannelSideStatus* const sender = side_of(channel, direction.sender);
      Key key(kOther, kOther);
      if (sums.size() < kNamesMax) {
        key = {channel.path, sender != nullptr ? sender->name : ""};
        const std::uint64_t nth = ++equal[key];
        if (nth > 1) absl::StrAppend(&key.second, "#", nth);
      }
      add_direction(sums[key], direction, sender,
                    direction.receiver ? side_of(channel, *direction.receiver) : nullptr);
    }
  }
  for (const auto& [key, sum] : sums) {
    exposition.add(scope::kChannel, {key.first, key.second}, {.channel = &sum});
  }
}

}  // namespace

void MonitorCounts::add(const MachineReading& reading, const absl::Status& channels,
                        std::uint64_t took_ns) {
  samples.add(took_ns);
  errors["announcement_not_trusted"] += reading.left_out.not_trusted;
  errors["announcement_beyond_limit"] += reading.left_out.beyond_limit;
  std::uint64_t& unreadable = errors["bus_unreadable"];
  std::uint64_t& unanswered = errors["publisher_unanswered"];
  for (const BusReading& bus : reading.buses) {
    if (!bus.ring.ok() && !bus.is_closed()) ++unreadable;
    if (bus.is_unanswered()) ++unanswered;
  }
  errors["channels_unreadable"] += channels.ok() ? 0U : 1U;
}

std::string bus_metrics_text(const MachineReading& reading,
                             const absl::StatusOr<ChannelList>& channels,
                             const MonitorCounts& counts, const MetricsOptions& options) {
  Exposition exposition;
  exposition.add(scope::kBuild, {options.version, options.revision}, {});
  for (const BusReading& bus : reading.buses) {
    if (!bus.is_closed()) add_bus(exposition, bus, options);
  }
  // Attached and missing subscribers already have series.
  for (const ExpectedReading& one : check_expected(reading, options.expected)) {
    if (one.state == ExpectedState::kAttached || one.state == ExpectedState::kMissing) continue;
    add_up(exposition, {one.expected.bus, one.expected.name}, false);
  }
  if (channels.ok()) add_channels(exposition, *channels);
  exposition.add(scope::kSamples, {}, {.times = counts.samples});
  for (const auto& [reason, errors] : counts.errors) {
    exposition.add(scope::kErrors, {reason}, {.number = static_cast<double>(errors)});
  }
  return exposition.take_text();
}

}  // namespace lapwing
