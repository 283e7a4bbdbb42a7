#include "monitor/metrics/bus_metrics.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "monitor/bus_labels.h"
#include "monitor/metrics/families.h"
#include "os/kernel.h"
#include "os/printable.h"

namespace lapwing {
namespace {

constexpr char kOther[] = "other";

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

// The same name again gets #2, #3 and so on. What is beyond kNamesMax is `other`.
class Names {
 public:
  std::string name(const std::string& wanted) {
    if (taken_.size() >= kNamesMax) return kOther;
    // Names that differ as bytes may be printed alike.
    const std::string first = printable(wanted);
    return free_name(first == kOther ? absl::StrCat(first, "#1") : first, taken_);
  }

 private:
  std::set<std::string> taken_;
};

// One series for each state that there is.
void add_states(Families& families, const char* name, const char* help, MetricLabels labels,
                const std::vector<std::string>& states, const std::string& state) {
  labels.emplace_back("state", "");
  for (const std::string& each : states) {
    labels.back().second = each;
    families.gauge(name, help, labels, each == state ? 1 : 0);
  }
}

std::vector<std::string> journal_states() {
  return {name_of(JournalState::kNone), name_of(JournalState::kGood),
          name_of(JournalState::kFailed), name_of(JournalState::kShed)};
}

std::vector<std::string> client_states() {
  return {name_of(ClientState::kJoining), name_of(ClientState::kLive),
          name_of(ClientState::kFilling), name_of(ClientState::kStopped),
          name_of(ClientState::kMissing)};
}

void add_ring(Families& f, const MetricLabels& bus, const RingStatus& ring) {
  f.gauge("lapwing_bus_heartbeat_age_seconds", "Time since its publisher renewed the heartbeat.",
          bus, seconds_of(ring.heartbeat_age_ns));
  f.gauge("lapwing_bus_head_sequence", "The newest published sequence.", bus, number(ring.head));
  f.gauge("lapwing_bus_archived_sequence", "The newest sequence written to the journal.", bus,
          number(ring.archived));
  f.gauge("lapwing_bus_durable_sequence", "The newest sequence that has survived a sync.", bus,
          number(ring.durable));
  f.gauge("lapwing_bus_oldest_sequence", "The oldest sequence that is kept.", bus,
          number(ring.oldest));
  add_states(f, "lapwing_journal_state", "1 for the state that it is in: none, good, failed, shed.",
             bus, journal_states(), name_of(ring.journal.state));
  if (ring.journal.state != JournalState::kNone) {
    f.gauge("lapwing_journal_lag_records", "Records by which the journal's files are behind head.",
            bus, number(ring.records_after(ring.archived)));
    f.gauge("lapwing_journal_undurable_records", "Records by which the last sync is behind head.",
            bus, number(ring.records_after(ring.durable)));
  }
  if (!ring.counts) return;
  f.counter("lapwing_bus_gaps_total", "Gaps of all subscribers, those that are gone included.", bus,
            number(ring.counts->gaps));
  f.counter("lapwing_bus_lost_records_total",
            "Records lost by all subscribers, those that are gone included.", bus,
            number(ring.counts->lost));
  f.histogram("lapwing_publisher_stall_seconds",
              "How long publishing waited for the journal, each time.", bus, ring.counts->stalls);
  f.counter("lapwing_publisher_doorbells_total", "Wakes of parked subscribers.", bus,
            number(ring.counts->doorbells));
  f.counter("lapwing_publisher_idle_wakes_total", "Wakes of the publisher's own threads.", bus,
            number(ring.counts->idle_wakes));
  f.gauge("lapwing_clients", "Connected clients.", bus, number(ring.counts->subscribers));
  if (ring.journal.state == JournalState::kNone) return;
  f.counter("lapwing_journal_written_bytes_total", "Bytes written to segments.", bus,
            number(ring.counts->journal_bytes));
  f.histogram("lapwing_journal_sync_seconds", "How long a sync took, each time.", bus,
              ring.counts->syncs);
}

// What its files say.
void add_files(Families& f, const MetricLabels& bus, const BusReading& reading) {
  MetricLabels info = bus;
  info.emplace_back("schema", reading.description.schema);
  info.emplace_back("writer", reading.description.journal_writer);
  f.gauge("lapwing_bus_info", "1; the schema of its records, and what writes its journal.", info,
          1);
  f.gauge("lapwing_bus_capacity_records", "Slots of its ring.", bus,
          number(reading.description.capacity));
  if (!reading.journal.ok()) return;
  const JournalFacts& journal = *reading.journal;
  if (reading.ring.ok()) {
    f.counter("lapwing_bus_records_total", "Records published.", bus,
              number(reading.ring->records_after(journal.void_records)));
  }
  if (!journal.is_kept) return;
  f.counter("lapwing_bus_void_records_total", "Sequences without a record, after power cuts.", bus,
            number(journal.void_records));
  f.counter("lapwing_bus_starts_total", "Sessions of the journal: starts of a publisher.", bus,
            number(journal.sessions));
  f.gauge("lapwing_journal_size_bytes", "Disk space that the segments of all its journals take.",
          bus, number(journal.size_bytes));
  f.gauge("lapwing_journal_free_bytes", "Disk space that is free for it.", bus,
          number(journal.free_bytes));
}

void add_clients(Families& f, const MetricLabels& bus, const PublisherStatus& publisher) {
  for (std::size_t i = 0; i < publisher.clients_by_reason.size(); ++i) {
    const auto reason = static_cast<DropReason>(i + 1);
    MetricLabels labels = bus;
    labels.emplace_back("reason", name_of(reason));
    const double count = number(publisher.clients_by_reason[i]);
    if (is_refusal(reason)) {
      f.counter("lapwing_clients_refused_total", "Clients that were refused.", labels, count);
    } else {
      f.counter("lapwing_clients_dropped_total", "Clients that were disconnected.", labels, count);
    }
  }
}

// A bucket for each power of two of the four that a report has.
prometheus::ClientMetric::Histogram histogram_of(const Latency& latency) {
  prometheus::ClientMetric::Histogram histogram;
  histogram.sample_sum = seconds_of(latency.sum_ns);
  const auto counts = latency.age_ns.counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    histogram.sample_count += counts[i];
    const bool ends_power = i % 4 == 0;
    if (!ends_power || i + 1 >= counts.size()) continue;
    histogram.bucket.push_back({histogram.sample_count, seconds_of(AgeHistogram::last_of(i) + 1)});
  }
  return histogram;
}

// Adds a subscriber beyond kNamesMax to the others: the sum of counts, and the worst of other values.
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

constexpr char kUpHelp[] = "1 if attached; 0 if missing, or expected (--expect) and not attached.";

void add_absent(Families& f, const MetricLabels& labels) {
  f.gauge("lapwing_subscriber_up", kUpHelp, labels, 0);
}

void add_attached(Families& f, const MetricLabels& labels, const SubscriberStatus& status) {
  f.gauge("lapwing_subscriber_up", kUpHelp, labels, 1);
  f.gauge("lapwing_subscriber_position_sequence", "The last sequence delivered.", labels,
          number(status.position));
  f.gauge("lapwing_subscriber_lag_records", "Records by which it is behind head.", labels,
          number(status.observed.lag));
  f.gauge("lapwing_subscriber_delay_seconds",
          "How long the next record that it has to take has been published.", labels,
          seconds_of(status.observed.delay_ns));
  f.gauge("lapwing_subscriber_report_age_seconds", "Time since it last reported.", labels,
          seconds_of(status.observed.report_age_ns.value_or(0)));
  f.counter("lapwing_subscriber_records_total", "Records delivered.", labels,
            number(status.records));
  f.counter("lapwing_subscriber_gaps_total", "Its gaps.", labels, number(status.gaps));
  f.counter("lapwing_subscriber_lost_records_total", "Records that it will never get.", labels,
            number(status.lost));
  f.counter("lapwing_subscriber_filled_records_total",
            "Records that it read from the journal after a gap.", labels, number(status.filled));
}

void add_one(Families& f, const MetricLabels& labels, const SubscriberStatus& status) {
  MetricLabels info = labels;
  info.emplace_back("pid", absl::StrCat(status.pid));
  info.emplace_back("user", absl::StrCat(status.uid));
  info.emplace_back("wait", status.wait ? name_of(*status.wait) : "");
  info.emplace_back("policy", status.on_gap ? name_of(*status.on_gap) : "");
  f.gauge("lapwing_subscriber_info", "1; its process, its wait strategy, what it does at a gap.",
          info, 1);
  add_states(f, "lapwing_subscriber_state",
             "1 for the state that it is in: joining, live, filling, stopped, missing.", labels,
             client_states(), name_of(status.state));
  if (status.latency) {
    f.histogram("lapwing_subscriber_latency_seconds",
                "Age of records where it delivered them, of those that it measures.", labels,
                histogram_of(*status.latency));
  }
}

// `expected`: those of this bus.
void add_subscribers(Families& f, const MetricLabels& bus, const PublisherStatus& publisher,
                     const std::vector<std::string>& expected) {
  std::vector<const SubscriberStatus*> oldest_first;
  for (const SubscriberStatus& one : publisher.subscribers) {
    if (!one.observes) oldest_first.push_back(&one);
  }
  std::ranges::stable_sort(oldest_first, {}, &SubscriberStatus::connected_wall_ns);
  // Expected subscribers keep their names, whichever others attached before them.
  std::ranges::stable_partition(oldest_first, [&](const SubscriberStatus* one) {
    return std::ranges::find(expected, one->name) != expected.end();
  });
  Names names;
  std::optional<SubscriberStatus> others;
  for (const SubscriberStatus* one : oldest_first) {
    MetricLabels labels = bus;
    labels.emplace_back("subscriber", names.name(one->name));
    if (labels.back().second != kOther) {
      add_one(f, labels, *one);
      if (one->is_missing()) {
        add_absent(f, labels);
      } else {
        add_attached(f, labels, *one);
      }
    } else if (others && !one->is_missing()) {
      add_to_others(*others, *one);
    } else if (!one->is_missing()) {
      others = *one;
    }
  }
  MetricLabels labels = bus;
  labels.emplace_back("subscriber", kOther);
  if (others) add_attached(f, labels, *others);
}

// Attached and missing ones have their series already.
void add_expected(Families& f, const MachineReading& reading,
                  const std::vector<ExpectedSubscriber>& expected) {
  for (const ExpectedReading& one : check_expected(reading, expected)) {
    if (one.state == ExpectedState::kAttached || one.state == ExpectedState::kMissing) continue;
    add_absent(f, {{"bus", one.expected.bus}, {"subscriber", one.expected.name}});
  }
}

void add_checkpoints(Families& f, const MetricLabels& bus, const BusReading& reading) {
  for (const CheckpointStatus& checkpoint : reading.checkpoints) {
    MetricLabels labels = bus;
    labels.emplace_back("fold", checkpoint.fold);
    f.gauge("lapwing_checkpoint_sequence", "The sequence of its newest checkpoint.", labels,
            number(checkpoint.as_of));
    if (reading.ring.ok()) {
      f.gauge("lapwing_checkpoint_lag_records",
              "Records by which the newest checkpoint is behind head.", labels,
              number(reading.ring->records_after(checkpoint.as_of)));
    }
    if (!checkpoint.usable.ok()) continue;
    f.gauge("lapwing_checkpoint_timestamp_seconds",
            "When the newest checkpoint was written, since 1970.", labels,
            seconds_of(checkpoint.written_wall_ns));
    f.gauge("lapwing_checkpoint_size_bytes", "Size of the newest checkpoint's file.", labels,
            number(checkpoint.bytes));
  }
}

void add_bus(Families& f, const std::string& name, const BusReading& reading,
             const MetricsOptions& options) {
  const MetricLabels bus = {{"bus", name}};
  f.gauge("lapwing_bus_up", "1 if its publisher runs and renews its heartbeat, else 0.", bus,
          reading.runs() ? 1 : 0);
  if (reading.runs()) {
    f.gauge("lapwing_publisher_answers",
            "1 if its publisher answers this monitor, 0 if it runs and does not.", bus,
            reading.is_unanswered() ? 0 : 1);
  }
  add_files(f, bus, reading);
  if (reading.ring.ok()) add_ring(f, bus, *reading.ring);
  if (reading.publisher.ok()) {
    std::vector<std::string> expected;
    for (const ExpectedSubscriber& one : options.expected) {
      if (one.bus == name) expected.push_back(one.name);
    }
    add_clients(f, bus, *reading.publisher);
    add_subscribers(f, bus, *reading.publisher, expected);
  }
  add_checkpoints(f, bus, reading);
}

const ChannelSideStatus* side_of(const ChannelStatus& channel, pid_t pid) {
  const auto found = std::find_if(channel.sides.begin(), channel.sides.end(),
                                  [&](const ChannelSideStatus& side) { return side.pid == pid; });
  return found == channel.sides.end() ? nullptr : &*found;
}

struct ChannelSums {
  MessageCount sent;
  MessageCount in_flight;
  std::uint64_t full_waits = 0;
  std::uint64_t empty_waits = 0;
  bool stopped = false;

  void add(const ChannelDirectionStatus& direction, const ChannelSideStatus* sender,
           const ChannelSideStatus* receiver) {
    sent.messages += direction.sent.messages;
    sent.frame_bytes += direction.sent.frame_bytes;
    in_flight.messages += direction.in_flight.messages;
    in_flight.frame_bytes += direction.in_flight.frame_bytes;
    if (sender != nullptr) full_waits += sender->full_waits;
    if (receiver != nullptr) empty_waits += receiver->empty_waits;
    stopped |= (sender != nullptr && sender->stopped) || (receiver != nullptr && receiver->stopped);
  }
};

void add_channels(Families& f, const ChannelList& list) {
  using Key = std::pair<std::string, std::string>;  // channel, sender
  Names names;
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
      sums[key].add(direction, sender,
                    direction.receiver ? side_of(channel, *direction.receiver) : nullptr);
    }
  }
  for (const auto& [key, sum] : sums) {
    const MetricLabels labels = {{"channel", key.first}, {"sender", key.second}};
    f.counter("lapwing_channel_messages_total", "Messages sent.", labels,
              number(sum.sent.messages));
    f.counter("lapwing_channel_frame_bytes_total", "Bytes of frames sent.", labels,
              number(sum.sent.frame_bytes));
    f.gauge("lapwing_channel_in_flight_messages", "Messages sent and not received.", labels,
            number(sum.in_flight.messages));
    f.gauge("lapwing_channel_in_flight_bytes", "Bytes of frames sent and not received.", labels,
            number(sum.in_flight.frame_bytes));
    f.counter("lapwing_channel_full_waits_total", "Times that the sender waited for room.", labels,
              number(sum.full_waits));
    f.counter("lapwing_channel_empty_waits_total", "Times that the receiver waited for a message.",
              labels, number(sum.empty_waits));
    f.gauge("lapwing_channel_stopped",
            "1 if a process of its two is stopped by a signal or a debugger.", labels,
            sum.stopped ? 1 : 0);
  }
}

}  // namespace

void MonitorCounts::add(const MachineReading& reading, const absl::Status& channels,
                        std::uint64_t took_ns) {
  samples.add(took_ns);
  errors["announcement_not_trusted"] += reading.not_trusted;
  errors["announcement_beyond_limit"] += reading.beyond_limit;
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
  Families families;
  families.gauge("lapwing_build_info", "1; what this monitor was built from.",
                 {{"version", options.version}, {"revision", options.revision}}, 1);
  for (const BusReading& bus : reading.buses) {
    if (!bus.is_closed()) add_bus(families, bus.label, bus, options);
  }
  add_expected(families, reading, options.expected);
  if (channels.ok()) add_channels(families, *channels);
  families.histogram("lapwing_monitor_sample_seconds", "How long a sample of all buses took.", {},
                     counts.samples);
  for (const auto& [reason, errors] : counts.errors) {
    families.counter("lapwing_monitor_errors_total",
                     "Buses that could not be read, and announcements that were not believed.",
                     {{"reason", reason}}, number(errors));
  }
  return families.text();
}

}  // namespace lapwing
