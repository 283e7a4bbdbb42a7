#include "wait_set/wait_set_core.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/deadline.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kNeverNs = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kEventsOfPoll = POLLIN | POLLOUT | POLLPRI | POLLRDHUP;
static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLPRI == EPOLLPRI &&
              POLLERR == EPOLLERR && POLLHUP == EPOLLHUP && POLLRDHUP == EPOLLRDHUP);

// Ready when its descriptor is; a server also by what it has taken from its clients already. Every
// other source is asked itself: a ready descriptor only says that it may be ready.
constexpr bool is_ready_by_descriptor(SourceKind kind) {
  return kind == SourceKind::kDescriptor || kind == SourceKind::kListener ||
         kind == SourceKind::kServer;
}

constexpr bool sleeps_on_word(SourceKind kind) {
  return kind == SourceKind::kSubscriber || kind == SourceKind::kConflatedReader ||
         kind == SourceKind::kLoadedState;
}

// Deadline::now() is 0. Periods count from the time of the call instead.
std::uint64_t due_from(std::uint64_t at_ns) {
  return at_ns == 0 ? monotonic_ns() : at_ns;
}

absl::Status overlap_error() {
  return make_error(Errc::kMisuse,
                    "another call waits in this wait set; end it with interrupt(), then change the "
                    "set");
}

}  // namespace

absl::StatusOr<std::unique_ptr<WaitSetCore>> WaitSetCore::make(WaitStrategy wait) {
  std::unique_ptr<WaitSetCore> core(new WaitSetCore(wait));
  absl::StatusOr<std::unique_ptr<DescriptorPoll>> descriptors =
      DescriptorPoll::make(core->interrupt_);
  if (!descriptors.ok()) return descriptors.status();
  core->descriptors_ = *std::move(descriptors);
  return core;
}

WaitSetCore::WaitSetCore(WaitStrategy wait) : wait_(wait), waiter_(wait) {}

WaitSetCore::~WaitSetCore() {
  for (const Entry& entry : entries_) {
    if (entry.source != nullptr) entry.source->set_owner(nullptr);
  }
}

// Sources.

absl::Status WaitSetCore::check_room() const {
  if (fork_.in_child()) return fork_.error();
  if (waiting_.is_taken()) return overlap_error();
  if (entries_.size() < kWaitSetSourcesMax) return absl::OkStatus();
  return make_error(Errc::kLimit, absl::StrCat("a wait set has ", kWaitSetSourcesMax,
                                               " sources at most; remove one first, or use another "
                                               "set in another thread"));
}

absl::StatusOr<SourceId> WaitSetCore::add_source(SourceKind kind, WaitSource* source,
                                                 std::uint64_t token, const std::string& what) {
  if (source == nullptr) {
    return make_error(Errc::kMisuse, absl::StrCat("this ", what,
                                                  " was moved from; add the object that it went "
                                                  "to"));
  }
  if (source->owner() != nullptr) {
    return make_error(
        Errc::kMisuse,
        absl::StrCat("this ", what, " is in a wait set already; remove it there first"));
  }
  if (may_park(wait_) && !source->can_sleep()) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("this ", what, " waits busily, and cannot be in a wait set that sleeps: a ",
                     "publisher rings only for those that may park; choose backoff or park for "
                     "it, or busy for the set"));
  }
  const int fd = source->wake_fd();
  absl::StatusOr<SourceId> added =
      add({.kind = kind, .token = token, .source = source, .fd = fd}, EPOLLIN);
  if (added.ok()) source->set_owner(this);
  return added;
}

absl::StatusOr<SourceId> WaitSetCore::add_fd(int fd, std::uint32_t events, std::uint64_t token) {
  if (events == 0 || (events & ~kEventsOfPoll) != 0) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("events are ", events,
                                   "; give one or more of POLLIN, POLLOUT, POLLPRI and POLLRDHUP"));
  }
  if (fd < 0) {
    return make_error(Errc::kInvalidArgument, absl::StrCat(fd, " is no descriptor"));
  }
  return add({.kind = SourceKind::kDescriptor, .token = token, .fd = fd}, events);
}

absl::StatusOr<SourceId> WaitSetCore::add_timer(std::uint64_t at_ns, std::uint64_t every_ns,
                                                std::uint64_t token) {
  return add(
      {.kind = SourceKind::kTimer, .token = token, .due_ns = due_from(at_ns), .every_ns = every_ns},
      0);
}

// `events`: of its descriptor, if it has one.
absl::StatusOr<SourceId> WaitSetCore::add(Entry entry, std::uint32_t events) {
  if (absl::Status room = check_room(); !room.ok()) return room;
  entry.id = last_id_ + 1;
  if (entry.fd >= 0) {
    absl::Status watched = descriptors_->add(entry.fd, events, entry.id);
    if (!watched.ok()) return watched;
    ++watched_;
  }
  if (entry.kind == SourceKind::kTimer) ++timers_;
  entries_.push_back(entry);
  last_id_ = entry.id;
  looks_left_ = 0;
  if (absl::Status helped = start_helper_if_needed(); !helped.ok()) {
    stop_watching(entries_.back());
    erase(std::prev(entries_.end()));
    return helped;
  }
  return entry.id;
}

absl::Status WaitSetCore::start_helper_if_needed() {
  const bool has_words = std::any_of(entries_.begin(), entries_.end(),
                                     [](const Entry& entry) { return sleeps_on_word(entry.kind); });
  if (!may_park(wait_) || !has_words || watched_ == 0) return absl::OkStatus();
  return descriptors_->start_helper();
}

WaitSetCore::Entries::iterator WaitSetCore::find(SourceId id) {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), id,
                       [](const Entry& entry, SourceId wanted) { return entry.id < wanted; });
  return found != entries_.end() && found->id == id ? found : entries_.end();
}

Errc WaitSetCore::set_timer(SourceId timer, std::uint64_t at_ns, std::uint64_t every_ns) {
  if (fork_.in_child()) return Errc::kForked;
  if (waiting_.is_taken()) return Errc::kMisuse;
  const auto entry = find(timer);
  if (entry == entries_.end() || entry->kind != SourceKind::kTimer) return Errc::kNotFound;
  entry->due_ns = due_from(at_ns);
  entry->every_ns = every_ns;
  entry->is_due = false;
  looks_left_ = 0;
  return Errc::kOk;
}

Errc WaitSetCore::remove(SourceId source) {
  if (fork_.in_child()) return Errc::kForked;
  if (waiting_.is_taken()) return Errc::kMisuse;
  const auto entry = find(source);
  if (entry == entries_.end()) return Errc::kNotFound;
  if (entry->source != nullptr) entry->source->set_owner(nullptr);
  stop_watching(*entry);
  erase(entry);
  return Errc::kOk;
}

void WaitSetCore::leave(WaitSource& source) noexcept {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& candidate) {
    return candidate.source == &source;
  });
  if (entry == entries_.end()) return;
  stop_watching(*entry);
  erase(entry);
}

// A source that has ended may have closed its descriptor, whose number may be another entry's by
// now.
void WaitSetCore::stop_watching(const Entry& entry) {
  if (entry.fd < 0) return;
  const bool is_closed = entry.source != nullptr && entry.source->wake_fd() != entry.fd;
  const bool is_anothers = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return other.fd == entry.fd && other.id != entry.id;
  });
  if (!is_closed && !is_anothers) descriptors_->remove(entry.fd);
}

void WaitSetCore::erase(Entries::iterator entry) {
  if (entry->fd >= 0) --watched_;
  if (entry->kind == SourceKind::kTimer) --timers_;
  const auto index = static_cast<std::size_t>(entry - entries_.begin());
  entries_.erase(entry);
  if (index < next_) --next_;
}

// Waiting.

Result<Ready> WaitSetCore::wait(std::uint64_t deadline_ns) {
  if (fork_.in_child()) return Errc::kForked;
  if (!waiting_.try_take()) return Errc::kMisuse;
  const Result<Ready> ready = wait_alone(deadline_ns);
  waiting_.release();
  return ready;
}

void WaitSetCore::interrupt() noexcept {
  interrupt_.raise();
  descriptors_->wake();
}

Result<Ready> WaitSetCore::wait_alone(std::uint64_t deadline_ns) {
  for (;;) {
    const bool at_everything = is_round_due();
    if (const Result<Ready> ready = look(at_everything); ready.ok()) {
      waiter_.reset();
      return ready;
    }
    if (!at_everything) {
      if (deadline_ns != 0 && waiter_.spinning()) {
        waiter_.spin();
      } else {
        looks_left_ = 0;  // nothing is given up, or slept for, before all was looked at
      }
      continue;
    }
    if (deadline_ns == 0) return Errc::kWouldBlock;
    if (interrupt_.take()) return Errc::kInterrupted;
    if (monotonic_ns() >= deadline_ns) return Errc::kTimedOut;
    if (waiter_.stay_awake()) continue;
    rest(deadline_ns);
    looks_left_ = 0;
  }
}

bool WaitSetCore::is_round_due() {
  const bool is_due = looks_left_ == 0;
  looks_left_ = is_due ? kLooksPerRound - 1 : looks_left_ - 1;
  return is_due;
}

Result<Ready> WaitSetCore::look(bool at_everything) {
  if (at_everything) {
    if (watched_ > 0) look_at_descriptors();
    if (timers_ > 0) look_at_timers();
  }
  for (std::size_t looks = entries_.size(); looks > 0; --looks) {
    if (next_ >= entries_.size()) next_ = 0;
    Entry& entry = entries_[next_++];
    if (is_ready(entry)) return report(entry);
  }
  return Errc::kWouldBlock;
}

void WaitSetCore::look_at_descriptors() {
  std::array<epoll_event, kWaitSetSourcesMax + 1> room;
  for (Entry& entry : entries_) entry.events = 0;
  for (const epoll_event& event : descriptors_->take_ready(room)) {
    const auto entry = find(event.data.u64);
    if (entry != entries_.end()) entry->events = event.events;
  }
}

void WaitSetCore::look_at_timers() {
  const std::uint64_t now = monotonic_ns();
  for (Entry& entry : entries_) {
    if (entry.kind == SourceKind::kTimer) entry.is_due = entry.due_ns <= now;
  }
}

bool WaitSetCore::is_ready(const Entry& entry) {
  if (entry.kind == SourceKind::kTimer) return entry.is_due;
  if (is_ready_by_descriptor(entry.kind) && entry.events != 0) return true;
  return entry.source != nullptr && entry.source->is_ready();
}

// It is ready once: a descriptor that stays so is found again by the next look at it.
Ready WaitSetCore::report(Entry& entry) {
  Ready ready{.kind = entry.kind, .token = entry.token, .source = entry.id};
  if (entry.kind == SourceKind::kDescriptor) ready.events = entry.events;
  entry.events = 0;
  if (entry.kind != SourceKind::kTimer) return ready;
  entry.is_due = false;
  if (entry.every_ns == 0) {
    entry.due_ns = kNeverNs;
    ready.expirations = 1;
    return ready;
  }
  const std::uint64_t now = monotonic_ns();
  ready.expirations = 1 + (now - entry.due_ns) / entry.every_ns;
  entry.due_ns = after_ns(entry.due_ns, ready.expirations * entry.every_ns);
  return ready;
}

void WaitSetCore::rest(std::uint64_t deadline_ns) {
  std::array<FutexWord, kFutexWordsMax> words;
  std::array<std::size_t, kFutexWordsMax> entry_of_word = {};
  std::size_t count = 0;
  words[count++] = interrupt_.word(interrupt_.bell());  // S1 of descriptor_poll.h
  if (interrupt_.is_raised()) return;
  std::uint64_t until_ns = deadline_ns;
  std::size_t prepared = 0;
  bool all_prepared = true;
  for (; prepared < entries_.size(); ++prepared) {
    const Entry& entry = entries_[prepared];
    if (entry.kind == SourceKind::kTimer) until_ns = std::min(until_ns, entry.due_ns);
    if (entry.source == nullptr) continue;
    const std::optional<WakeUp> wake_up = entry.source->prepare_wait();
    if (!wake_up) {
      all_prepared = false;
      break;
    }
    if (wake_up->word) {
      entry_of_word[count] = prepared;
      words[count++] = *wake_up->word;
    }
    until_ns = std::min(until_ns, wake_up->wake_by_ns);
  }
  if (all_prepared) {
    const std::size_t woken = rest_prepared(std::span(words).first(count), until_ns);
    // Looked at first, it is found before the others have looked after everything.
    if (woken > 0 && woken < count) next_ = entry_of_word[woken];
  }
  for (std::size_t i = 0; i < prepared; ++i) {
    if (entries_[i].source != nullptr) entries_[i].source->finish_wait();
  }
}

// `words` begins with the set's own bell. Returns which of them was woken, or their number where it
// is not known.
std::size_t WaitSetCore::rest_prepared(std::span<const FutexWord> words, std::uint64_t until_ns) {
  const std::uint64_t now = monotonic_ns();
  if (now >= until_ns) return words.size();
  const std::uint64_t timeout_ns = std::min(until_ns - now, kWaitSetSleepNsMax);
  const bool has_others = words.size() > 1;
  if (watched_ > 0 && !has_others) {
    descriptors_->wait_ready(timeout_ns);
    return words.size();
  }
  if (watched_ > 0) descriptors_->arm_helper();
  if (const std::optional<std::size_t> woken = futex_wait_any(words, timeout_ns)) return *woken;
  const FutexWord& bell = words.front();
  futex_wait(bell.word, bell.expected,
             has_others ? std::min(timeout_ns, kNoWaitvSleepNs) : timeout_ns);
  return words.size();
}

}  // namespace lapwing
