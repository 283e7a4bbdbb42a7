#include "publisher/file_thread.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/detail/atomic_word.h"
#include "os/start_thread.h"
#include "proto/ring_counters.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kForeverNs = ~std::uint64_t{0};
constexpr std::uint64_t kWarnIntervalNs = 10'000'000'000;
constexpr std::uint64_t kLapParts = 8;  // minimum number of head polls per lap

}  // namespace

void HeadWatch::look(Sequence head, std::uint64_t now_ns, std::uint64_t capacity) {
  const std::uint64_t moved = head - head_;
  interval_ns_ = moved == 0
                     ? kLookNs
                     : std::min(kLookNs, (now_ns - looked_ns_) * (capacity / kLapParts) / moved);
  if (moved != 0) moved_ns_ = now_ns;
  head_ = head;
  looked_ns_ = now_ns;
}

FileThread::FileThread(std::unique_ptr<Archiver> archiver, RingWords& words, std::uint64_t capacity,
                       bool stop_on_failure, JournalGate& gate, detail::AttentionWord& attention,
                       Hooks hooks)
    : archiver_(std::move(archiver)),
      words_(&words),
      capacity_(capacity),
      stop_on_failure_(stop_on_failure),
      hooks_(std::move(hooks)),
      gate_(gate),
      sleeper_(attention, kFileSleeper),
      head_watch_(load_head(words)),
      durable_told_(archiver_->durable()) {
  gate_.raise(archiver_->limit());
}

FileThread::~FileThread() {
  close().IgnoreError();
}

absl::Status FileThread::start(const ThreadPlacement& placement) {
  if (absl::Status made = sleeper_.init(); !made.ok()) return made;
  return start_thread(thread_, "lapwing-file", [this] { run(); },
                      {.timer_slack_ns = kPromptTimerSlackNs, .placement = placement});
}

absl::Status FileThread::close() {
  if (closing_.is_set()) return closed_;
  closing_.set();
  if (thread_.joinable()) {
    sleeper_.signal();
    thread_.join();
  }
  closed_ = archiver_->close(load_head(*words_), wall_ns());
  tell();
  requests_.close();
  return closed_;
}

void FileThread::request_flush(Asker asker, Sequence through) {
  requests_.request_flush(asker, through);
  sleeper_.signal();
}

void FileThread::request_prune(Sequence below) {
  requests_.request_prune(below);
  sleeper_.signal();
}

std::optional<Errc> FileThread::prune_result() const {
  return requests_.prune_result();
}

void FileThread::shed() {
  requests_.shed();
  sleeper_.signal();
}

void FileThread::run() {
  while (!closing_.is_set()) {
    const Sequence head = load_head(*words_);
    const std::uint64_t now = monotonic_ns();
    head_watch_.look(head, now, capacity_);
    hooks_.on_turn(now);
    take_requests();
    const std::uint64_t next_ns = archiver_->step(head, now, wall_ns(), kLookNs);
    tell();
    warn_of_lag(head);
    if (filling_) filling_ = hooks_.fill_ring();
    if (!filling_) rest(head, next_ns);
  }
}

void FileThread::take_requests() {
  if (const auto through = requests_.take_flush()) archiver_->request_flush(*through);
  if (const auto below = requests_.take_prune()) archiver_->request_prune(*below);
  if (requests_.is_shed() && archiver_->condition().state == JournalState::kGood) {
    archiver_->shed();
    tell();  // the publisher waits for it
  }
}

// Publishes the archiver's progress on page 1, `oldest` first. So when a reader sees `durable`,
// every record below it exists, except pruned ones, which `oldest` shows.
void FileThread::tell() {
  store_oldest(*words_, archiver_->oldest());
  store_archived(*words_, archiver_->archived());
  store_durable(*words_, archiver_->durable());
  const JournalCondition condition = archiver_->condition();
  if (condition.state != state_told_) tell_condition(condition);
  // Set after the condition, so that a reader that finds unarchived records missing from the ring
  // also finds the reason.
  if (!gate_.ended()) gate_.raise(archiver_->limit());
  if (archiver_->durable() != durable_told_ || archiver_->oldest() != oldest_told_) {
    durable_told_ = archiver_->durable();
    oldest_told_ = archiver_->oldest();
    gate_.nudge();
    hooks_.on_progress();
  }
  if (requests_.prune_is_under_way()) tell_prune();
  tell_counts();
}

void FileThread::tell_counts() {
  const ArchiverCounters counters = archiver_->counters();
  store_count(words_->journal_bytes, counters.bytes_written);
  if (counters.syncs == syncs_told_) return;
  syncs_told_ = counters.syncs;
  store_durations(words_->syncs, counters.sync_durations);
}

// Reports that the journal has ended other than by a close.
void FileThread::tell_condition(const JournalCondition& condition) {
  state_told_ = condition.state;
  store_journal_condition(*words_, condition);
  hooks_.log(log_entry(
      LogEvent::kJournalFailed,
      absl::StrCat("journal ended: ", archiver_->failure().message(), "; durable stays at ",
                   archiver_->durable(),
                   stop_on_failure_ ? "; publishing stops" : "; live publishing continues"),
      {{"durable", archiver_->durable()},
       {"errno", static_cast<std::uint64_t>(condition.sys_errno)}}));
  if (stop_on_failure_) gate_.end();
  sleeper_.demand_attention();
  hooks_.on_progress();
}

void FileThread::tell_prune() {
  const bool failed = archiver_->condition().state != JournalState::kGood;
  if (!failed && archiver_->pruning()) return;
  requests_.finish_prune(failed ? Errc::kJournalFailed : Errc::kOk);
  hooks_.on_progress();
}

void FileThread::warn_of_lag(Sequence head) {
  const Sequence archived = archiver_->archived();
  if (archiver_->condition().state != JournalState::kGood) return;
  if (head < archived || head - archived <= capacity_ / 2) return;
  const std::uint64_t now = monotonic_ns();
  if (warned_ns_ != 0 && now - warned_ns_ < kWarnIntervalNs) return;
  warned_ns_ = now;
  hooks_.log(log_entry(
      LogEvent::kJournalLagging,
      absl::StrCat(
          "the journal is ", head - archived, " records behind, more than half the ring (",
          capacity_,
          " slots): the disk is too slow for this rate. Increase --capacity to absorb bursts"),
      {{"behind", head - archived}, {"capacity", capacity_}}));
}

// Sleeps until the next poll, or until woken if the thread is idle and no work is pending.
void FileThread::rest(Sequence head, std::uint64_t next_ns) {
  const std::uint64_t now = monotonic_ns();
  if (next_ns <= now) return;
  if (!head_watch_.is_idle(now)) {
    sleeper_.wait(std::min(head_watch_.interval_ns(), next_ns - now));
    return;
  }
  if (sleeper_.prepare_to_sleep(*words_, head)) {
    if (!closing_.is_set()) {
      sleeper_.wait(next_ns == kForeverNs ? kSleepNsMax : std::min(kSleepNsMax, next_ns - now));
    }
    sleeper_.wake_up();
  }
  if (gate_.ended()) sleeper_.demand_attention();  // again: the sleep cleared the bit
}

}  // namespace lapwing
