#include "publisher/service_thread.h"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "os/start_thread.h"
#include "proto/ring_counters.h"
#include "publisher/file_thread.h"
#include "snapshot/roster.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kListIntervalNs = 100'000'000;

// Stalls above 1,024 µs are reported as events.
constexpr std::size_t kLongStalls = duration_count_of(1'024'000) + 1;

std::uint64_t count_long_stalls(const RingWords& words) {
  const Durations stalls = load_durations(words.stalls);
  return std::accumulate(stalls.counts.begin() + kLongStalls, stalls.counts.end(), Word{0});
}

}  // namespace

ServiceThread::ServiceThread(ServerOptions options, const RingFile& ring,
                             ControlledPublisher& publisher, detail::AttentionWord& attention)
    : options_(std::move(options)),
      ring_(&ring),
      words_(&ring.words()),
      publisher_(&publisher),
      sleeper_(attention, kServiceSleeper),
      lists_(options_.expected) {
  head_seen_ = load_head(*words_);
}

ServiceThread::~ServiceThread() {
  close();
}

absl::Status ServiceThread::start(const ThreadPlacement& placement) {
  absl::StatusOr<std::unique_ptr<ControlServer>> server =
      ControlServer::start(options_, *publisher_);
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  if (absl::Status made = sleeper_.init(); !made.ok()) return made;
  return start_thread(thread_, "lapwing-service", [this] { run(); },
                      {.timer_slack_ns = kPromptTimerSlackNs, .placement = placement});
}

void ServiceThread::close() {
  if (!thread_.joinable()) return;
  closing_.set();
  sleeper_.signal();
  thread_.join();
}

void ServiceThread::run() {
  while (!closing_.is_set()) {
    const std::uint64_t now = monotonic_ns();
    beat(now);
    const std::uint64_t next_ns = server_->turn(now);
    answer();
    note_stalls();
    note_journal();
    publish_list(now);
    ring_doorbell(now);
    rest(now, std::min(next_ns, next_heartbeat_ns_));
  }
  bump_bell(doorbell_address(*words_));
  futex_wake_all(doorbell_address(*words_));
  server_->turn(monotonic_ns());
  answer();
  next_list_ns_ = 0;
  publish_list(monotonic_ns());
  server_->close();
}

void ServiceThread::answer() {
  server_->answer_flushes(load_durable(*words_), load_journal_condition(*words_));
  while (server_->prune_waiting()) {  // each answer makes the next one available
    const std::optional<Errc> result = publisher_->prune_result();
    if (!result) return;
    server_->answer_prune(load_oldest(*words_), *result);
  }
}

void ServiceThread::note_stalls() {
  const std::uint64_t count = count_long_stalls(*words_);
  if (count == long_stalls_) return;
  EventInfoFrame stalls = make_frame<EventInfoFrame>(FrameType::kEventInfo);
  stalls.kind = BusEventKind::kStall;
  stalls.count = count - std::exchange(long_stalls_, count);
  server_->events().add(stalls);
}

void ServiceThread::note_journal() {
  const JournalCondition condition = load_journal_condition(*words_);
  if (condition.state == journal_noted_) return;
  journal_noted_ = condition.state;
  const bool is_shed = condition.state == JournalState::kShed;
  if (!is_shed && condition.state != JournalState::kFailed) return;
  EventInfoFrame end = make_frame<EventInfoFrame>(FrameType::kEventInfo);
  end.kind = is_shed ? BusEventKind::kJournalShed : BusEventKind::kJournalFailed;
  end.sys_errno = condition.sys_errno;
  server_->events().add(end);
}

void ServiceThread::beat(std::uint64_t now_ns) {
  if (now_ns < next_heartbeat_ns_) return;
  next_heartbeat_ns_ = now_ns + kHeartbeatNs;
  store_heartbeat(*words_, now_ns);
  publisher_->on_heartbeat(now_ns);
  if (name_lost_ || ring_->still_named()) return;
  name_lost_ = true;
  publisher_->log(log_entry(
      LogEvent::kRingDeleted,
      absl::StrCat(
          "the ring file ", ring_->path(),
          " was deleted: attached subscribers continue, new ones cannot attach, and a kill would "
          "lose the records that are not archived. Restart the publisher, and protect its files: a "
          "systemd user may need RemoveIPC=no, `loginctl enable-linger` or its own --ring-dir"),
      {{"path", ring_->path()}}));
}

// Wakes parked subscribers if records were published since the last call and the next wake is due.
void ServiceThread::ring_doorbell(std::uint64_t now_ns) {
  const Sequence head = load_head(*words_);
  if (head == head_seen_) return;
  head_moved_ns_ = now_ns;
  if (server_->parking_count() == 0) {
    head_seen_ = head;
    return;
  }
  if (now_ns < next_doorbell_ns_) return;
  head_seen_ = head;
  bump_bell(doorbell_address(*words_));
  futex_wake_all(doorbell_address(*words_));
  doorbells_.add();
  store_count(words_->doorbells, doorbells_.load());
  const std::uint64_t took = monotonic_ns() - now_ns;
  next_doorbell_ns_ = now_ns + std::max(kDoorbellNs, kDoorbellRestFactor * took);
}

// Sleeps until `next_ns` at the latest, or until the next poll of head if one is due earlier.
void ServiceThread::rest(std::uint64_t now_ns, std::uint64_t next_ns) {
  if (server_->parking_count() == 0) {
    wait(next_ns - std::min(next_ns, now_ns));
    return;
  }
  if (now_ns - head_moved_ns_ < kIdleAfterNs) {
    const std::uint64_t look_ns = std::max(next_doorbell_ns_, now_ns + kDoorbellNs);
    next_ns = std::min(next_ns, look_ns);
    wait(next_ns - std::min(next_ns, now_ns));
    return;
  }
  // Idle: no poll is due until the publish path signals.
  if (!sleeper_.prepare_to_sleep(*words_, head_seen_)) return;
  wait(next_ns - std::min(next_ns, now_ns));
  sleeper_.wake_up();
}

void ServiceThread::wait(std::uint64_t timeout_ns) {
  const timespec timeout = timespec_of(timeout_ns);
  // Do not use epoll_pwait2, which has the same resolution: older container runtimes refuse it.
  pollfd fds[] = {{server_->epoll_fd(), POLLIN, 0}, {sleeper_.fd(), POLLIN, 0}};
  if (ppoll(fds, 2, &timeout, nullptr) > 0) sleeper_.drain();
}

void ServiceThread::publish_list(std::uint64_t now_ns) {
  subscribers_.store(server_->subscriber_count());
  store_count(words_->subscribers, server_->subscriber_count());
  store_count(words_->gaps, server_->gaps_reported());
  store_count(words_->lost, server_->lost_reported());
  if (now_ns < next_list_ns_) return;
  next_list_ns_ = now_ns + kListIntervalNs;
  std::vector<SubscriberInfoFrame> list = server_->subscribers();
  std::vector<SubscriberInfoFrame> roster;
  std::ranges::copy_if(list, std::back_inserter(roster), is_expected_back);
  std::ranges::copy(server_->missing().all(), std::back_inserter(roster));
  lists_.set(std::move(list), std::move(roster));
}

void ServiceThread::SubscriberLists::set(std::vector<SubscriberInfoFrame> subscribers,
                                         std::vector<SubscriberInfoFrame> roster) {
  const std::lock_guard lock(mutex_);
  subscribers_ = std::move(subscribers);
  roster_ = std::move(roster);
}

std::vector<SubscriberInfoFrame> ServiceThread::SubscriberLists::subscribers() const {
  const std::lock_guard lock(mutex_);
  return subscribers_;
}

std::vector<SubscriberInfoFrame> ServiceThread::SubscriberLists::roster() const {
  const std::lock_guard lock(mutex_);
  return roster_;
}

}  // namespace lapwing
