#include "lapwing/wait_set.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/conflation.h"
#include "lapwing/consumer.h"
#include "lapwing/duplex.h"
#include "lapwing/duplex_server.h"
#include "lapwing/error.h"
#include "lapwing/listener.h"
#include "lapwing/load_state.h"
#include "lapwing/producer.h"
#include "lapwing/subscriber.h"
#include "os/fork.h"
#include "os/kernel.h"
#include "os/ready_loop.h"
#include "os/system_error.h"
#include "os/wait_source.h"
#include "os/waiter.h"
#include "subscribers/conflation/conflation_access.h"
#include "subscribers/subscriber_access.h"
#include "wait_set/add_source.h"

namespace lapwing {
namespace {

static_assert(kWaitSetSourcesMax + 1 == kFutexWordsMax);

constexpr std::uint64_t kNoTimerNs = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kEventsOfPoll = POLLIN | POLLOUT | POLLPRI | POLLRDHUP;
static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLPRI == EPOLLPRI &&
              POLLERR == EPOLLERR && POLLHUP == EPOLLHUP && POLLRDHUP == EPOLLRDHUP);

// Whether a ready descriptor makes the source ready. A server can also be ready because of data
// that it has already taken from its clients. All other sources are queried, because a ready
// descriptor only means that its source may be ready.
constexpr bool is_ready_by_descriptor(SourceKind kind) {
  return kind == SourceKind::kDescriptor || kind == SourceKind::kListener ||
         kind == SourceKind::kServer;
}

constexpr bool sleeps_on_word(SourceKind kind) {
  return kind == SourceKind::kSubscriber || kind == SourceKind::kConflatedReader ||
         kind == SourceKind::kLoadedState;
}

// Deadline::now() is 0. A period starts at the time of the call instead.
std::uint64_t due_from(Deadline at) {
  return at == Deadline::now() ? monotonic_ns() : at.monotonic_ns();
}

absl::Status cannot_watch(int sys_errno, int fd) {
  switch (sys_errno) {
    case EPERM:
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("descriptor ", fd,
                                     " cannot be polled: reads of a regular file or directory "
                                     "never wait. Remove it from the set"));
    case EEXIST:
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("descriptor ", fd,
                                     " is in the set already; remove it first, or add a dup() of "
                                     "it"));
    case EBADF:
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat(fd, " is not an open descriptor; add it before it is closed"));
    case EINVAL:
    case ELOOP:
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("descriptor ", fd, " cannot be watched by an epoll set"));
    case ENOSPC:
    case ENOMEM:
      return no_room_to_watch(absl::StrCat("descriptor ", fd));
    default:
      return make_system_error(sys_errno, absl::StrCat("watching descriptor ", fd));
  }
}

}  // namespace

// The sources, and how the ready loop checks and waits for them (os/ready_loop.h).
//
// Ownership: owns no source. A source that is destroyed leaves the set (WaitSourceOwner).
struct WaitSet::State final : WaitSourceOwner {
  struct Entry {
    bool is_ready() const;
    // Reports it as ready once. A descriptor that stays ready is found again on the next check.
    Ready report();

    SourceId id = 0;
    SourceKind kind = {};
    std::uint64_t token = 0;
    WaitSource* source = nullptr;  // null: a descriptor or a timer
    int fd = -1;                   // the watched descriptor
    std::uint32_t events = 0;      // of a watched descriptor, as of the last check
    std::uint64_t due_ns = 0;      // of a timer
    std::uint64_t every_ns = 0;
    bool is_due = false;
  };
  using Entries = std::vector<Entry>;

  State(WaitStrategy how, LoopDescriptors descriptors)
      : strategy(how), loop("wait set", how, std::move(descriptors)) {}
  ~State();

  absl::Status check_room() const;
  // `events`: those of its descriptor, if it has one.
  absl::StatusOr<SourceId> add(Entry entry, std::uint32_t events);
  absl::Status start_helper_if_needed();
  Entries::iterator find(SourceId id);
  void erase(Entries::iterator entry);
  void leave(WaitSource& source) noexcept override;

  Result<Ready> check(bool everything);
  void check_descriptors();
  void check_timers();
  void rest(FutexWord bell, std::uint64_t until_ns);

  const WaitStrategy strategy;
  ReadyLoop loop;
  Entries entries;  // by id
  SourceId last_id = 0;
  std::size_t next = 0;  // index in entries at which the next check begins
  std::size_t timers = 0;
};

WaitSet::State::~State() {
  for (const Entry& entry : entries) {
    if (entry.source != nullptr) entry.source->set_owner(nullptr);
  }
}

// Sources.

absl::Status WaitSet::State::check_room() const {
  if (loop.made().in_child()) return loop.made().error();
  if (loop.enter() != Errc::kOk) {
    return make_error(Errc::kMisuse,
                      "another call waits in this wait set; end it with interrupt(), then change "
                      "the set");
  }
  if (entries.size() < kWaitSetSourcesMax) return absl::OkStatus();
  return make_error(Errc::kLimit, absl::StrCat("a wait set has ", kWaitSetSourcesMax,
                                               " sources at most; remove one first, or use another "
                                               "set in another thread"));
}

absl::StatusOr<SourceId> WaitSet::State::add(Entry entry, std::uint32_t events) {
  if (absl::Status room = check_room(); !room.ok()) return room;
  entry.id = last_id + 1;
  if (entry.fd >= 0) {
    const int refused = loop.watch(entry.fd, events, entry.id);
    if (refused != 0) return cannot_watch(refused, entry.fd);
  }
  if (entry.kind == SourceKind::kTimer) ++timers;
  entries.push_back(entry);
  last_id = entry.id;
  loop.begin_round();
  if (absl::Status helped = start_helper_if_needed(); !helped.ok()) {
    erase(std::prev(entries.end()));
    return helped;
  }
  return entry.id;
}

absl::Status WaitSet::State::start_helper_if_needed() {
  const bool has_words = std::any_of(entries.begin(), entries.end(),
                                     [](const Entry& entry) { return sleeps_on_word(entry.kind); });
  if (!may_park(strategy) || !has_words || !loop.watches()) return absl::OkStatus();
  return loop.start_helper();
}

WaitSet::State::Entries::iterator WaitSet::State::find(SourceId id) {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), id,
                       [](const Entry& entry, SourceId wanted) { return entry.id < wanted; });
  return found != entries.end() && found->id == id ? found : entries.end();
}

// A source that has ended may have closed its descriptor, whose number may now belong to another
// entry.
void WaitSet::State::erase(Entries::iterator entry) {
  if (entry->fd >= 0) {
    const bool is_closed = entry->source != nullptr && entry->source->wake_fd() != entry->fd;
    const bool is_anothers = std::any_of(entries.begin(), entries.end(), [&](const Entry& other) {
      return other.fd == entry->fd && other.id != entry->id;
    });
    loop.stop_watching(is_closed || is_anothers ? -1 : entry->fd);
  }
  if (entry->kind == SourceKind::kTimer) --timers;
  const auto index = static_cast<std::size_t>(entry - entries.begin());
  entries.erase(entry);
  if (index < next) --next;
}

void WaitSet::State::leave(WaitSource& source) noexcept {
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& candidate) {
    return candidate.source == &source;
  });
  if (entry != entries.end()) erase(entry);
}

// Checks and sleeps.

Result<Ready> WaitSet::State::check(bool everything) {
  if (everything) {
    if (loop.watches()) check_descriptors();
    if (timers > 0) check_timers();
  }
  for (std::size_t left = entries.size(); left > 0; --left) {
    if (next >= entries.size()) next = 0;
    Entry& entry = entries[next++];
    if (entry.is_ready()) return entry.report();
  }
  return Errc::kWouldBlock;
}

void WaitSet::State::check_descriptors() {
  std::array<epoll_event, kWaitSetSourcesMax + 1> room;
  for (Entry& entry : entries) entry.events = 0;
  for (const epoll_event& event : loop.take_ready(room)) {
    const auto entry = find(event.data.u64);
    if (entry != entries.end()) entry->events = event.events;
  }
}

void WaitSet::State::check_timers() {
  const std::uint64_t now = monotonic_ns();
  for (Entry& entry : entries) {
    if (entry.kind == SourceKind::kTimer) entry.is_due = entry.due_ns <= now;
  }
}

bool WaitSet::State::Entry::is_ready() const {
  if (kind == SourceKind::kTimer) return is_due;
  if (is_ready_by_descriptor(kind) && events != 0) return true;
  return source != nullptr && source->is_ready();
}

Ready WaitSet::State::Entry::report() {
  Ready ready{.kind = kind, .token = token, .source = id};
  if (kind == SourceKind::kDescriptor) ready.events = events;
  events = 0;
  if (kind != SourceKind::kTimer) return ready;
  is_due = false;
  if (every_ns == 0) {
    due_ns = kNoTimerNs;
    ready.expirations = 1;
    return ready;
  }
  const std::uint64_t now = monotonic_ns();
  ready.expirations = 1 + (now - due_ns) / every_ns;
  due_ns = after_ns(due_ns, ready.expirations * every_ns);
  return ready;
}

void WaitSet::State::rest(FutexWord bell, std::uint64_t until_ns) {
  std::array<FutexWord, kFutexWordsMax> words = {bell};
  std::array<std::size_t, kFutexWordsMax> entry_of_word = {};
  std::size_t count = 1;
  std::size_t prepared = 0;
  bool all_prepared = true;
  for (; prepared < entries.size(); ++prepared) {
    const Entry& entry = entries[prepared];
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
    const std::size_t woken = loop.park(std::span(words).first(count), until_ns);
    // Check it first, before the other sources do their upkeep.
    if (woken > 0 && woken < count) next = entry_of_word[woken];
  }
  for (std::size_t i = 0; i < prepared; ++i) {
    if (entries[i].source != nullptr) entries[i].source->finish_wait();
  }
}

// The set.

absl::StatusOr<WaitSet> WaitSet::open(WaitSetOptions options) {
  absl::StatusOr<LoopDescriptors> descriptors =
      LoopDescriptors::make(Watch::make("for a wait set"));
  if (!descriptors.ok()) return descriptors.status();
  return WaitSet(StateHandle(new State(options.wait, *std::move(descriptors))));
}

WaitSet::WaitSet(StateHandle state) : state_(std::move(state)) {}
WaitSet::WaitSet(WaitSet&&) noexcept = default;
WaitSet& WaitSet::operator=(WaitSet&&) noexcept = default;
WaitSet::~WaitSet() = default;
void WaitSet::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->loop.made());
}

absl::StatusOr<SourceId> add_source(WaitSet& set, SourceKind kind, WaitSource* source,
                                    std::uint64_t token, const std::string& what) {
  if (source == nullptr) {
    return make_error(
        Errc::kMisuse,
        absl::StrCat("this ", what, " was moved from; add the object that it was moved to"));
  }
  if (source->owner() != nullptr) {
    return make_error(
        Errc::kMisuse,
        absl::StrCat("this ", what, " is in a wait set already; remove it there first"));
  }
  WaitSet::State& state = *set.state_;
  if (may_park(state.strategy) && !source->can_sleep()) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("this ", what, " waits busily, and cannot be in a wait set that sleeps. A ",
                     "publisher wakes only waits that may park. Choose backoff or park for it, or "
                     "busy for the set"));
  }
  const int fd = source->wake_fd();
  absl::StatusOr<SourceId> added =
      state.add({.kind = kind, .token = token, .source = source, .fd = fd}, EPOLLIN);
  if (added.ok()) source->set_owner(&state);
  return added;
}

absl::StatusOr<SourceId> WaitSet::add(Subscriber& subscriber, std::uint64_t token) {
  return add_source(*this, SourceKind::kSubscriber, SubscriberAccess::wait_source(subscriber),
                    token, "subscriber");
}

absl::StatusOr<SourceId> WaitSet::add(ConflatedReader& reader, std::uint64_t token) {
  return add_source(*this, SourceKind::kConflatedReader, ConflationAccess::wait_source(reader),
                    token, "conflated reader");
}

absl::StatusOr<SourceId> WaitSet::add(LoadedState& loaded, std::uint64_t token) {
  return add_source(*this, SourceKind::kLoadedState, SubscriberAccess::wait_source(loaded), token,
                    "loaded state");
}

absl::StatusOr<SourceId> WaitSet::add(ChannelConsumer& consumer, std::uint64_t token) {
  return add_source(*this, SourceKind::kConsumer, consumer.wait_source(), token, "consumer");
}

absl::StatusOr<SourceId> WaitSet::add(ChannelProducer& producer, std::size_t bytes,
                                      std::uint64_t token) {
  if (bytes > producer.message_bytes_max()) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("room for a message of ", bytes,
                     " bytes is too much: this channel takes up to ", producer.message_bytes_max(),
                     ". Open it with a larger message_bytes_max"));
  }
  return add_source(*this, SourceKind::kProducer, producer.wait_source(bytes), token, "producer");
}

absl::StatusOr<SourceId> WaitSet::add(Duplex& duplex, std::uint64_t token) {
  return add_source(*this, SourceKind::kDuplex, duplex.wait_source(), token, "duplex");
}

absl::StatusOr<SourceId> WaitSet::add(ChannelListener& listener, std::uint64_t token) {
  return add_source(*this, SourceKind::kListener, listener.wait_source(), token, "listener");
}

absl::StatusOr<SourceId> WaitSet::add(DuplexServer& server, std::uint64_t token) {
  return add_source(*this, SourceKind::kServer, server.wait_source(), token, "server");
}

absl::StatusOr<SourceId> WaitSet::add_fd(int fd, std::uint32_t events, std::uint64_t token) {
  if (events == 0 || (events & ~kEventsOfPoll) != 0) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("events are ", events,
                                   "; give one or more of POLLIN, POLLOUT, POLLPRI and POLLRDHUP"));
  }
  if (fd < 0) {
    return make_error(Errc::kInvalidArgument, absl::StrCat(fd, " is not a descriptor"));
  }
  return state_->add({.kind = SourceKind::kDescriptor, .token = token, .fd = fd}, events);
}

absl::StatusOr<SourceId> WaitSet::add_timer(Deadline at, std::uint64_t token,
                                            std::chrono::nanoseconds every) {
  return state_->add({.kind = SourceKind::kTimer,
                      .token = token,
                      .due_ns = due_from(at),
                      .every_ns = ns_of(every)},
                     0);
}

Result<> WaitSet::set_timer(SourceId timer, Deadline at, std::chrono::nanoseconds every) {
  if (const Errc entered = state_->loop.enter(); entered != Errc::kOk) return entered;
  const auto entry = state_->find(timer);
  if (entry == state_->entries.end() || entry->kind != SourceKind::kTimer) return Errc::kNotFound;
  entry->due_ns = due_from(at);
  entry->every_ns = ns_of(every);
  entry->is_due = false;
  state_->loop.begin_round();
  return Errc::kOk;
}

Result<> WaitSet::remove(SourceId source) {
  if (const Errc entered = state_->loop.enter(); entered != Errc::kOk) return entered;
  const auto entry = state_->find(source);
  if (entry == state_->entries.end()) return Errc::kNotFound;
  if (entry->source != nullptr) entry->source->set_owner(nullptr);
  state_->erase(entry);
  return Errc::kOk;
}

std::size_t WaitSet::size() const {
  return state_->loop.made().in_child() ? 0 : state_->entries.size();
}

Result<Ready> WaitSet::wait(Deadline deadline) {
  return state_->loop.wait(*state_, deadline.monotonic_ns());
}

void WaitSet::interrupt() noexcept {
  state_->loop.interrupt();
}

}  // namespace lapwing
