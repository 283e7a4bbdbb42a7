#include "monitor/bus_monitor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bus/control/socket.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/process_state.h"
#include "proto/ring_words.h"
#include "snapshot/bus_directory.h"
#include "subscribers/described_ring.h"

namespace lapwing {

void BusMonitor::sample(std::uint64_t now_ns) {
  read_words();
  if (!is_published() && now_ns >= attach_again_ns_) attach(now_ns);
  if (!words_) return;
  heartbeat_->age_ns(words_->words(), now_ns);  // notes whether it changes
  heads_.add(now_ns, load_head(words_->words()));
}

// A ring that cannot be read any more is one that there is not.
void BusMonitor::read_words() {
  if (!words_) return;
  const absl::Status read = words_->refresh(*ring_);
  if (read.ok()) return;
  why_no_ring_ = read;
  ring_.reset();
  words_.reset();
  client_.reset();
}

// While a publisher lives no other one can have started.
bool BusMonitor::is_published() const {
  return words_ && load_ring_state(words_->words()) == RingState::kRunning &&
         ring_->is_held().value_or(false);
}

// Takes the ring that the bus directory names now, if it is another one.
void BusMonitor::attach(std::uint64_t now_ns) {
  attach_again_ns_ = now_ns + kReattachNs;
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory_);
  why_no_ring_ = bus.status();
  if (!bus.ok()) return;
  description_ = *bus;
  absl::StatusOr<OpenRing> ring = open_described_ring(directory_, *bus);
  if (ring.ok() && ring_ && ring_->path() == ring->path()) return;
  absl::StatusOr<RingWordsCopy> words =
      ring.ok() ? RingWordsCopy::read(*ring) : absl::StatusOr<RingWordsCopy>(ring.status());
  why_no_ring_ =
      bus->closed ? make_error(Errc::kNotFound, "the session was closed") : words.status();
  journal_again_ns_ = 0;
  ask_again_ns_ = 0;
  ring_.reset();
  words_.reset();
  client_.reset();
  if (!words.ok()) return;
  ring_ = *std::move(ring);
  words_ = *std::move(words);
  heartbeat_.emplace(ring_->header());
  newest_event_ = 0;  // another session counts anew
}

absl::StatusOr<RingStatus> BusMonitor::ring_status() {
  if (!words_) return why_no_ring_;
  return status_of(*ring_, words_->words(), *heartbeat_);
}

absl::StatusOr<BusMonitor::Answer> BusMonitor::ask(Sequence head, std::uint64_t now_ns) {
  const std::uint64_t deadline_ns = monotonic_ns() + kPublisherAnswerNs;
  if (!client_) {
    absl::StatusOr<ControlClient> client =
        connect_to_publisher(directory_, "lapwing-monitor", deadline_ns);
    if (!client.ok()) return client.status();
    client_ = *std::move(client);
  }
  const absl::StatusOr<ControlClient::SubscriberList> list = client_->list_subscribers(deadline_ns);
  if (!list.ok()) {
    client_.reset();
    return why_unanswered(directory_, list.status());
  }
  ask_events(deadline_ns);
  PublisherStatus publisher = status_of(head, *list, namespaces_of(*client_));
  Answer answer{.subscribers = {},
                .clients_refused = publisher.clients_refused,
                .clients_dropped = publisher.clients_dropped,
                .clients_by_reason = publisher.clients_by_reason};
  for (SubscriberStatus& status : publisher.subscribers) {
    answer.subscribers.push_back(reading_of(std::move(status), now_ns));
  }
  lags_ = std::exchange(next_lags_, {});
  std::erase_if(latencies_, [&](const auto& entry) { return !lags_.contains(entry.first); });
  return answer;
}

// What is new since the last time. A publisher that lists none is as good.
void BusMonitor::ask_events(std::uint64_t deadline_ns) {
  const absl::StatusOr<ControlClient::EventList> list =
      client_->list_events(newest_event_, deadline_ns);
  if (!list.ok()) {
    if (errc_of(list.status()) != Errc::kUnsupported) client_.reset();
    return;
  }
  BusEvents found = events_of(*list);
  newest_event_ = found.newest;
  for (BusEvent& event : found.events) keep_event(events_, std::move(event));
}

void BusMonitor::list_checkpoints(std::uint64_t now_ns) {
  if (now_ns < list_again_ns_) return;
  list_again_ns_ = now_ns + kCheckpointsNs;
  checkpoints_ = read_checkpoints(directory_).value_or(std::vector<CheckpointStatus>());
}

void BusMonitor::read_journal(std::uint64_t now_ns) {
  if (now_ns < journal_again_ns_) return;
  journal_again_ns_ = now_ns + kJournalNs;
  journal_ = read_journal_facts(description_.journal_root,
                                is_trusted_ ? UINT64_MAX : kOtherSessionsBytesMax);
}

bool BusMonitor::is_settled() {
  const absl::StatusOr<RingStatus> ring = ring_status();
  return !ring.ok() || ring->is_heartbeat_age_known ||
         state_of_publisher(*ring) != PublisherState::kRunning;
}

BusReading BusMonitor::read(std::uint64_t now_ns) {
  sample(now_ns);
  if (parts_ == BusParts::kAll) {
    list_checkpoints(now_ns);
    read_journal(now_ns);
  }
  BusReading reading{.directory = directory_,
                     .name = description_.name,
                     .schema = description_.schema,
                     .journal_writer = description_.journal_writer,
                     .capacity = description_.capacity,
                     .ring = ring_status(),
                     .rate = heads_.rate(kRateWindowNs),
                     .subscribers = make_error(Errc::kPublisherGone, "no publisher runs"),
                     .journal = journal_,
                     .checkpoints = checkpoints_,
                     .events = {events_.begin(), events_.end()}};
  if (!reading.ring.ok()) return reading;
  reading.state = state_of_publisher(*reading.ring);
  if (reading.state != PublisherState::kRunning || parts_ == BusParts::kRing) return reading;
  if (now_ns >= ask_again_ns_) {
    ask_again_ns_ = now_ns + kAskNs;
    answer_ = ask(reading.ring->head, now_ns);
    if (errc_of(answer_.status()) == Errc::kTimedOut) ask_again_ns_ = now_ns + kUnansweredNs;
  }
  if (!answer_.ok()) {
    // The publisher may have ended meanwhile.
    read_words();
    reading.ring = ring_status();
    if (!reading.ring.ok()) return reading;
    reading.state = state_of_publisher(*reading.ring);
    if (reading.state == PublisherState::kRunning) reading.subscribers = answer_.status();
    return reading;
  }
  reading.clients_refused = answer_->clients_refused;
  reading.clients_dropped = answer_->clients_dropped;
  reading.clients_by_reason = answer_->clients_by_reason;
  reading.events.assign(events_.begin(), events_.end());
  reading.subscribers = answer_->subscribers;
  return reading;
}

SubscriberReading BusMonitor::reading_of(SubscriberStatus status, std::uint64_t now_ns) {
  SubscriberReading reading{.status = std::move(status)};
  if (reading.status.is_missing()) return reading;
  measure_delay(reading, now_ns);
  const ClientId id(reading.status.pid, reading.status.connected_wall_ns);
  const auto before = lags_.find(id);
  if (before != lags_.end() && now_ns > before->second.time_ns) {
    reading.lag_rate =
        (static_cast<double>(reading.status.lag) - static_cast<double>(before->second.records)) *
        1e9 / static_cast<double>(now_ns - before->second.time_ns);
  }
  next_lags_[id] = {now_ns, reading.status.lag};
  if (reading.status.latency) {
    reading.recent_latency = latencies_[id].add(now_ns, *reading.status.latency);
  }
  return reading;
}

// What it said of itself a moment ago is held against the head that it saw then.
void BusMonitor::measure_delay(SubscriberReading& reading, std::uint64_t now_ns) const {
  const SubscriberStatus& status = reading.status;
  if (status.lag == 0) return;
  const std::optional<std::uint64_t> since = heads_.since();
  const std::optional<std::uint64_t> due = heads_.when_reached(status.position + 1);
  const std::uint64_t seen =
      status.is_recent ? heads_.when_reached(status.head_seen).value_or(now_ns) : now_ns;
  const std::uint64_t from = due ? *due : since.value_or(now_ns);
  reading.delay_ns = seen - std::min(seen, from);
  reading.delay_is_longer = !due;
}

}  // namespace lapwing
