#include "monitor/metrics/exposition.h"

#include <concepts>
#include <functional>

#include "os/kernel.h"

namespace lapwing {
namespace {

using prometheus::ClientMetric;
using Value = std::optional<ClientMetric>;
using Reader = Value (*)(const MetricSource& source);

Value value_of(double number) {
  ClientMetric metric;
  metric.gauge.value = metric.counter.value = number;
  return metric;
}

Value value_of(std::integral auto number) {
  return value_of(static_cast<double>(number));
}

Value value_of(const Durations& durations) {
  ClientMetric metric;
  ClientMetric::Histogram& histogram = metric.histogram;
  histogram.sample_sum = seconds_of(durations.sum_ns);
  // The last count has no upper limit: the serialiser writes it as +Inf.
  for (std::size_t i = 0; i < kDurationCounts; ++i) {
    histogram.sample_count += durations.counts[i];
    if (i + 1 == kDurationCounts) break;
    histogram.bucket.push_back({histogram.sample_count, seconds_of(duration_limit_ns(i))});
  }
  return metric;
}

// One bucket per power of two, instead of the four in a report.
Value value_of(const Latency& latency) {
  ClientMetric metric;
  ClientMetric::Histogram& histogram = metric.histogram;
  histogram.sample_sum = seconds_of(latency.sum_ns);
  const auto counts = latency.age_ns.counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    histogram.sample_count += counts[i];
    const bool ends_power = i % 4 == 0;
    if (!ends_power || i + 1 >= counts.size()) continue;
    histogram.bucket.push_back({histogram.sample_count, seconds_of(AgeHistogram::last_of(i) + 1)});
  }
  return metric;
}

template <typename Type>
Value value_of(const std::optional<Type>& value) {
  return value ? value_of(*value) : std::nullopt;
}

// Each step is a member, a method or a function applied to the previous step's result. A null
// pointer and a nullopt yield no value.
template <auto kStep, auto... kSteps, typename From>
Value read(const From& from) {
  const auto& found = std::invoke(kStep, from);
  if constexpr (sizeof...(kSteps) == 0) {
    return value_of(found);
  } else if constexpr (requires { *found; }) {
    return found ? read<kSteps...>(*found) : std::nullopt;
  } else {
    return read<kSteps...>(found);
  }
}

const RingStatus* ring_of(const BusReading& bus) {
  return bus.ring.ok() ? &*bus.ring : nullptr;
}
const RingCounts* journal_counts(const RingStatus& ring) {
  return ring.counts && ring.journal.state != JournalState::kNone ? &*ring.counts : nullptr;
}
const JournalFacts* kept_journal(const BusReading& bus) {
  return bus.journal.ok() && bus.journal->is_kept ? &*bus.journal : nullptr;
}
const CheckpointStatus* usable(const CheckpointStatus& checkpoint) {
  return checkpoint.usable.ok() ? &checkpoint : nullptr;
}
std::uint64_t capacity(const BusReading& bus) {
  return bus.description.capacity;
}
std::optional<bool> answers(const BusReading& bus) {
  return bus.runs() ? std::optional(bus.publisher.ok()) : std::nullopt;
}
std::optional<std::uint64_t> published_records(const BusReading& bus) {
  if (!bus.ring.ok() || !bus.journal.ok()) return std::nullopt;
  return bus.ring->records_after(bus.journal->void_records);
}
std::uint64_t report_age_ns(const Observed& observed) {
  return observed.report_age_ns.value_or(0);
}
Value checkpoint_lag(const MetricSource& source) {
  if (!source.bus->ring.ok()) return std::nullopt;
  return value_of(source.bus->ring->records_after(source.checkpoint->as_of));
}

constexpr Reader number = read<&MetricSource::number>;
constexpr Reader times = read<&MetricSource::times>;
template <auto... kSteps>
constexpr Reader bus = read<&MetricSource::bus, kSteps...>;
template <auto... kSteps>
constexpr Reader ring = read<&MetricSource::bus, ring_of, kSteps...>;
template <auto... kSteps>
constexpr Reader subscriber = read<&MetricSource::subscriber, kSteps...>;
template <auto kStep>
constexpr Reader observed = subscriber<&SubscriberStatus::observed, kStep>;
template <auto... kSteps>
constexpr Reader checkpoint = read<&MetricSource::checkpoint, kSteps...>;
template <auto... kSteps>
constexpr Reader channel = read<&MetricSource::channel, kSteps...>;
template <auto kStep>
constexpr Reader server = read<&MetricSource::http, kStep>;
template <auto kStep>
constexpr Reader stream = read<&MetricSource::stream, kStep>;
template <auto kStep>
constexpr Reader view = read<&MetricSource::view, kStep>;
template <auto kStep>
constexpr Reader process = read<&MetricSource::process, kStep>;

constexpr auto kGauge = prometheus::MetricType::Gauge;
constexpr auto kCounter = prometheus::MetricType::Counter;
constexpr auto kHistogram = prometheus::MetricType::Histogram;

using namespace scope;
constexpr Metric kMetrics[] = {
    {"lapwing_build_info", kGauge, &kBuild, "1; what this monitor was built from.", number},

    {"lapwing_bus_info", kGauge, &kBusInfo,
     "1; the schema of its records, and what writes its journal.", number},
    {"lapwing_bus_up", kGauge, &kBus, "1 if its publisher runs and renews its heartbeat, else 0.",
     bus<&BusReading::runs>},
    {"lapwing_bus_heartbeat_age_seconds", kGauge, &kBus,
     "Time since its publisher renewed the heartbeat.", ring<&RingStatus::heartbeat_age_ns>,
     Unit::kNs},
    {"lapwing_bus_capacity_records", kGauge, &kBus, "Slots of its ring.", bus<capacity>},
    {"lapwing_bus_head_sequence", kGauge, &kBus, "The newest published sequence.",
     ring<&RingStatus::head>},
    {"lapwing_bus_archived_sequence", kGauge, &kBus, "The newest sequence written to the journal.",
     ring<&RingStatus::archived>},
    {"lapwing_bus_durable_sequence", kGauge, &kBus, "The newest sequence that has survived a sync.",
     ring<&RingStatus::durable>},
    {"lapwing_bus_oldest_sequence", kGauge, &kBus, "The oldest sequence that is kept.",
     ring<&RingStatus::oldest>},
    {"lapwing_bus_records_total", kCounter, &kBus, "Records published.", bus<published_records>},
    {"lapwing_bus_gaps_total", kCounter, &kBus,
     "Gaps of all subscribers, including those that have left.",
     ring<&RingStatus::counts, &RingCounts::gaps>},
    {"lapwing_bus_lost_records_total", kCounter, &kBus,
     "Records lost by all subscribers, including those that have left.",
     ring<&RingStatus::counts, &RingCounts::lost>},
    {"lapwing_bus_void_records_total", kCounter, &kBus,
     "Sequences without a record, after power cuts.",
     bus<kept_journal, &JournalFacts::void_records>},
    {"lapwing_bus_starts_total", kCounter, &kBus, "Sessions of the journal: starts of a publisher.",
     bus<kept_journal, &JournalFacts::sessions>},

    {"lapwing_publisher_answers", kGauge, &kBus,
     "1 if its publisher answers this monitor, 0 if it runs and does not.", bus<answers>},
    {"lapwing_publisher_stall_seconds", kHistogram, &kBus,
     "How long publishing waited for the journal, each time.",
     ring<&RingStatus::counts, &RingCounts::stalls>},
    {"lapwing_publisher_doorbells_total", kCounter, &kBus, "Wakes of parked subscribers.",
     ring<&RingStatus::counts, &RingCounts::doorbells>},
    {"lapwing_publisher_idle_wakes_total", kCounter, &kBus, "Wakes of the publisher's own threads.",
     ring<&RingStatus::counts, &RingCounts::idle_wakes>},

    {"lapwing_journal_state", kGauge, &kJournalState,
     "1 for the state that it is in: none, good, failed, shed.", number},
    {"lapwing_journal_lag_records", kGauge, &kBus,
     "Records by which the journal's files are behind head.", ring<&RingStatus::unarchived>},
    {"lapwing_journal_undurable_records", kGauge, &kBus,
     "Records by which the last sync is behind head.", ring<&RingStatus::undurable>},
    {"lapwing_journal_size_bytes", kGauge, &kBus,
     "Disk space that the segments of all its journals take.",
     bus<kept_journal, &JournalFacts::size_bytes>},
    {"lapwing_journal_free_bytes", kGauge, &kBus, "Disk space that is free for it.",
     bus<kept_journal, &JournalFacts::free_bytes>},
    {"lapwing_journal_written_bytes_total", kCounter, &kBus, "Bytes written to segments.",
     ring<journal_counts, &RingCounts::journal_bytes>},
    {"lapwing_journal_sync_seconds", kHistogram, &kBus, "How long a sync took, each time.",
     ring<journal_counts, &RingCounts::syncs>},

    {"lapwing_clients", kGauge, &kBus, "Connected clients.",
     ring<&RingStatus::counts, &RingCounts::subscribers>},
    {"lapwing_clients_refused_total", kCounter, &kRefused, "Clients that were refused.", number},
    {"lapwing_clients_dropped_total", kCounter, &kDropped, "Clients that were disconnected.",
     number},

    {"lapwing_subscriber_info", kGauge, &kSubscriberInfo,
     "1; its process, its wait strategy, what it does at a gap.", number},
    {"lapwing_subscriber_state", kGauge, &kSubscriberState,
     "1 for the state that it is in: joining, live, filling, stopped, missing.", number},
    {"lapwing_subscriber_up", kGauge, &kSubscriberUp,
     "1 if attached; 0 if missing, or expected (--expect) and not attached.", number},
    {"lapwing_subscriber_position_sequence", kGauge, &kSubscriber, "The last sequence delivered.",
     subscriber<&SubscriberStatus::position>},
    {"lapwing_subscriber_lag_records", kGauge, &kSubscriber, "Records by which it is behind head.",
     observed<&Observed::lag>},
    {"lapwing_subscriber_delay_seconds", kGauge, &kSubscriber,
     "Age of the next record that it must read.", observed<&Observed::delay_ns>, Unit::kNs},
    {"lapwing_subscriber_report_age_seconds", kGauge, &kSubscriber, "Time since it last reported.",
     observed<report_age_ns>, Unit::kNs},
    {"lapwing_subscriber_records_total", kCounter, &kSubscriber, "Records delivered.",
     subscriber<&SubscriberStatus::records>},
    {"lapwing_subscriber_gaps_total", kCounter, &kSubscriber, "Its gaps.",
     subscriber<&SubscriberStatus::gaps>},
    {"lapwing_subscriber_lost_records_total", kCounter, &kSubscriber,
     "Records that it will never get.", subscriber<&SubscriberStatus::lost>},
    {"lapwing_subscriber_filled_records_total", kCounter, &kSubscriber,
     "Records that it read from the journal after a gap.", subscriber<&SubscriberStatus::filled>},
    {"lapwing_subscriber_latency_seconds", kHistogram, &kSubscriberLatency,
     "Age of the measured records when it delivered them.", subscriber<&SubscriberStatus::latency>},

    {"lapwing_channel_messages_total", kCounter, &kChannel, "Messages sent.",
     channel<&ChannelSums::sent, &MessageCount::messages>},
    {"lapwing_channel_frame_bytes_total", kCounter, &kChannel, "Bytes of frames sent.",
     channel<&ChannelSums::sent, &MessageCount::frame_bytes>},
    {"lapwing_channel_in_flight_messages", kGauge, &kChannel, "Messages sent and not received.",
     channel<&ChannelSums::in_flight, &MessageCount::messages>},
    {"lapwing_channel_in_flight_bytes", kGauge, &kChannel, "Bytes of frames sent and not received.",
     channel<&ChannelSums::in_flight, &MessageCount::frame_bytes>},
    {"lapwing_channel_full_waits_total", kCounter, &kChannel,
     "Times that the sender waited for room.", channel<&ChannelSums::full_waits>},
    {"lapwing_channel_empty_waits_total", kCounter, &kChannel,
     "Times that the receiver waited for a message.", channel<&ChannelSums::empty_waits>},
    {"lapwing_channel_stopped", kGauge, &kChannel,
     "1 if a process of its two is stopped by a signal or a debugger.",
     channel<&ChannelSums::stopped>},

    {"lapwing_checkpoint_sequence", kGauge, &kCheckpoint, "The sequence of its newest checkpoint.",
     checkpoint<&CheckpointStatus::as_of>},
    {"lapwing_checkpoint_lag_records", kGauge, &kCheckpoint,
     "Records by which the newest checkpoint is behind head.", checkpoint_lag},
    {"lapwing_checkpoint_timestamp_seconds", kGauge, &kCheckpoint,
     "When the newest checkpoint was written, since 1970.",
     checkpoint<usable, &CheckpointStatus::written_wall_ns>, Unit::kNs},
    {"lapwing_checkpoint_size_bytes", kGauge, &kCheckpoint, "Size of the newest checkpoint's file.",
     checkpoint<usable, &CheckpointStatus::bytes>},

    {"lapwing_http_requests_total", kCounter, &kRequests, "Requests answered.", number},
    {"lapwing_http_request_duration_seconds", kHistogram, &kRequestTimes,
     "How long answering took.", times},
    {"lapwing_http_connections", kGauge, &kServer, "Open connections.",
     server<&HttpCounts::connections>},
    {"lapwing_http_rejected_total", kCounter, &kRejected,
     "Connections and requests that were rejected.", number},

    {"lapwing_http_stream_clients", kGauge, &kServer, "Clients of /api/v1/stream.",
     stream<&StreamCounts::clients>},
    {"lapwing_http_stream_messages_total", kCounter, &kServer, "Messages sent to them.",
     stream<&StreamCounts::messages>},
    {"lapwing_http_stream_conflated_messages_total", kCounter, &kServer,
     "Messages that a newer one replaced before they were sent.", stream<&StreamCounts::conflated>},

    {"lapwing_view_clients", kGauge, &kView, "Clients that view the bus.",
     stream<&StreamCounts::clients>},
    {"lapwing_view_messages_total", kCounter, &kView, "Messages sent to them.",
     stream<&StreamCounts::messages>},
    {"lapwing_view_conflated_messages_total", kCounter, &kView,
     "Messages that a newer one replaced before they were sent.", stream<&StreamCounts::conflated>},
    {"lapwing_view_lag_records", kGauge, &kView, "Records by which the view is behind head.",
     view<&ViewCounts::behind>},

    {"lapwing_monitor_sample_seconds", kHistogram, &kSamples,
     "How long a sample of all buses took.", times},
    {"lapwing_monitor_errors_total", kCounter, &kErrors,
     "Buses that could not be read, and announcements that were not believed.", number},

    {"process_cpu_seconds_total", kCounter, &kProcess, "Processor time of this monitor.",
     process<&ProcessCounts::cpu_seconds>},
    {"process_resident_memory_bytes", kGauge, &kProcess, "Its resident memory.",
     process<&ProcessCounts::resident_bytes>},
    {"process_open_fds", kGauge, &kProcess, "Its open descriptors.",
     process<&ProcessCounts::open_fds>},
    {"process_max_fds", kGauge, &kProcess, "How many it may open.",
     process<&ProcessCounts::max_fds>},
    {"process_start_time_seconds", kGauge, &kProcess, "When it started, since 1970.",
     process<&ProcessCounts::start_seconds>},
};

}  // namespace

std::span<const Metric> all_metrics() {
  return kMetrics;
}

}  // namespace lapwing
