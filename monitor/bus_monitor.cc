#include "monitor/bus_monitor.h"

#include <algorithm>

namespace lapwing {

void BusMonitor::sample(std::uint64_t now_ns) {
  read_words(now_ns);
  const bool is_published = ring_ && ring_->is_published();
  if (!is_published && now_ns >= attach_again_ns_) attach(now_ns);
  if (ring_) heads_.add(now_ns, ring_->head());
}

// A ring that can no longer be read is treated as absent.
void BusMonitor::read_words(std::uint64_t now_ns) {
  if (!ring_) return;
  const absl::Status read = ring_->refresh(now_ns);
  if (!read.ok()) detach(read);
}

void BusMonitor::detach(const absl::Status& why) {
  why_no_ring_ = why;
  ring_.reset();
  client_.reset();
}

// Switches to the ring that the bus directory names now, if it is a different one.
void BusMonitor::attach(std::uint64_t now_ns) {
  attach_again_ns_ = now_ns + kReattachNs;
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory_);
  why_no_ring_ = bus.status();
  if (!bus.ok()) return;
  description_ = *bus;
  absl::StatusOr<RingWatch> ring = RingWatch::open(directory_, *bus);
  if (ring.ok() && ring_ && ring_->path() == ring->path()) return;
  detach(bus->closed ? make_error(Errc::kNotFound, "the session was closed") : ring.status());
  journal_again_ns_ = 0;
  ask_again_ns_ = 0;
  if (!ring.ok()) return;
  ring_ = *std::move(ring);
  newest_event_ = 0;  // each session numbers its events from 1
}

absl::StatusOr<RingStatus> BusMonitor::ring_status() {
  if (!ring_) return why_no_ring_;
  return ring_->status();
}

bool BusMonitor::is_settled() {
  const absl::StatusOr<RingStatus> ring = ring_status();
  return !ring.ok() || ring->is_settled();
}

BusReading BusMonitor::read(std::uint64_t now_ns) {
  sample(now_ns);
  if (parts_ == BusParts::kAll) read_files(now_ns);
  BusReading reading{.directory = directory_,
                     .description = description_,
                     .ring = ring_status(),
                     .rate = heads_.rate(kRateWindowNs),
                     .publisher = make_error(Errc::kPublisherGone, "no publisher runs"),
                     .journal = journal_,
                     .checkpoints = checkpoints_,
                     .events = {}};
  if (parts_ == BusParts::kPublisher) {
    reading.publisher = ask(reading.ring, now_ns);
  } else if (parts_ == BusParts::kAll && reading.runs()) {
    add_answer(reading, now_ns);
  }
  reading.events.assign(events_.begin(), events_.end());
  return reading;
}

void BusMonitor::read_files(std::uint64_t now_ns) {
  if (now_ns >= list_again_ns_) {
    list_again_ns_ = now_ns + kCheckpointsNs;
    checkpoints_ = read_checkpoints(directory_).value_or(std::vector<CheckpointStatus>());
  }
  if (now_ns >= journal_again_ns_) {
    journal_again_ns_ = now_ns + kJournalNs;
    journal_ = read_journal_facts(description_.journal_root,
                                  is_trusted_ ? UINT64_MAX : kOtherSessionsBytesMax);
  }
}

void BusMonitor::add_answer(BusReading& reading, std::uint64_t now_ns) {
  if (now_ns >= ask_again_ns_) {
    ask_again_ns_ = now_ns + kAskNs;
    publisher_ = ask(reading.ring, now_ns);
    if (errc_of(publisher_.status()) == Errc::kTimedOut) ask_again_ns_ = now_ns + kUnansweredNs;
  }
  if (!publisher_.ok()) {
    // The publisher may have ended in the meantime.
    read_words(now_ns);
    reading.ring = ring_status();
    if (!reading.runs()) return;
  }
  reading.publisher = publisher_;
}

absl::StatusOr<PublisherStatus> BusMonitor::ask(const absl::StatusOr<RingStatus>& ring,
                                                std::uint64_t now_ns) {
  const std::uint64_t deadline_ns = monotonic_ns() + kPublisherAnswerNs;
  if (!client_) {
    absl::StatusOr<ControlClient> client =
        connect_to_publisher(directory_, "lapwing-monitor", deadline_ns);
    if (!client.ok()) return client.status();
    client_ = *std::move(client);
  }
  const Sequence head = ring.ok() ? ring->head : client_->welcome().head;
  absl::StatusOr<PublisherStatus> publisher =
      list_subscribers(directory_, *client_, head, deadline_ns);
  if (!publisher.ok()) {
    client_.reset();
    return publisher;
  }
  if (parts_ == BusParts::kAll) ask_events(deadline_ns);
  watch(publisher->subscribers, now_ns);
  return publisher;
}

// Requests the events since the last request. A publisher that has no events stays connected.
void BusMonitor::ask_events(std::uint64_t deadline_ns) {
  const absl::StatusOr<ControlClient::EventList> list =
      client_->list_events(newest_event_, deadline_ns);
  if (!list.ok()) {
    if (errc_of(list.status()) != Errc::kUnsupported) client_.reset();
    return;
  }
  newest_event_ = list->end.newest;
  for (const EventInfoFrame& event : list->events) keep_event(events_, event);
}

// Adds values that require a comparison with earlier readings.
void BusMonitor::watch(std::vector<SubscriberStatus>& subscribers, std::uint64_t now_ns) {
  std::map<ClientId, Watched> before = std::exchange(watched_, {});
  for (SubscriberStatus& subscriber : subscribers) {
    if (subscriber.is_missing()) continue;
    Observed& observed = subscriber.observed;
    measure_delay(subscriber, observed, now_ns);
    const ClientId id(subscriber.pid, subscriber.connected_wall_ns);
    watched_.insert(before.extract(id));
    Watched& watched = watched_[id];
    if (watched.time_ns != 0 && now_ns > watched.time_ns) {
      observed.lag_rate = (static_cast<double>(observed.lag) - static_cast<double>(watched.lag)) *
                          1e9 / static_cast<double>(now_ns - watched.time_ns);
    }
    watched.time_ns = now_ns;
    watched.lag = observed.lag;
    if (subscriber.latency) {
      observed.recent_latency = watched.latencies.add(now_ns, *subscriber.latency);
    }
  }
}

// A recent report is compared with the head that the subscriber saw at that time.
void BusMonitor::measure_delay(const SubscriberStatus& subscriber, Observed& observed,
                               std::uint64_t now_ns) const {
  if (observed.lag == 0) return;
  const std::optional<std::uint64_t> due = heads_.when_reached(subscriber.position + 1);
  const std::uint64_t seen =
      observed.is_recent ? heads_.when_reached(subscriber.head_seen).value_or(now_ns) : now_ns;
  const std::uint64_t from = due ? *due : heads_.since().value_or(now_ns);
  observed.delay_ns = seen - std::min(seen, from);
  observed.delay_is_longer = !due;
}

absl::StatusOr<RingStatus> read_ring_status(const std::string& directory) {
  BusMonitor monitor(directory, /*is_trusted=*/true, BusParts::kRing);
  settle(monitor);
  return monitor.read(monotonic_ns()).ring;
}

}  // namespace lapwing
