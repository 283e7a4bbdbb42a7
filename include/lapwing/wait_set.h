// Waits for several sources in one thread: buses, channel ends, listeners, descriptors and timers.
//
//   auto set = lapwing::WaitSet::open();
//   auto es = set->add(es_bus, kEs);             // lapwing::Subscriber
//   auto orders = set->add(orders_in, kOrders);  // lapwing::ChannelConsumer
//   auto tick = set->add_timer(std::chrono::seconds(1), kTick, std::chrono::seconds(1));
//   ...                                          // each is an absl::StatusOr<lapwing::SourceId>
//   for (;;) {
//     const lapwing::Result<lapwing::Ready> ready = set->wait(lapwing::Deadline::never());
//     if (!ready.ok()) break;                       // kInterrupted
//     if (ready->token == kEs) take_from(es_bus);   // with Deadline::now()
//     if (ready->token == kOrders) take_from(orders_in);
//     if (ready->token == kTick) report();
//   }
//
// wait() returns a source that is ready, and takes nothing from it. Then read the source itself,
// with Deadline::now() or a call whose name begins with try_. A source that still has something to
// take is ready again, so you may take one record and wait again.
//
// A source is ready if it has:
//  - Subscriber, ConflatedReader, LoadedState: a record, an event or a state entry.
//  - ChannelConsumer: a message. ChannelProducer: room for a message of the given size.
//  - Duplex: a call, a message, a reply, or an outgoing call that has timed out.
//  - ChannelListener: work for accept() or tend().
//  - DuplexServer: work for try_wait(), which may not return an event yet.
// A source that has ended is ready until it is removed.
//
// Waits are fair: a wait first polls the source after the one that was returned last. Descriptors
// and timers are polled on every 64th wait, even if other sources are always ready, and before any
// sleep.
//
// In a set, a source works as in its own waits. For example, a subscriber finds and joins its bus,
// detects the death of its publisher, reports, becomes stale, and attaches to the next publisher.
// It does so only while wait() runs. A program that is busy elsewhere delays it, as with a
// subscriber's own calls.
//
// A source that becomes ready wakes a sleeping set, as it would wake its own wait, and needs no
// thread for this. A set of buses sleeps on their doorbells (futex_waitv, Linux 5.16). If the
// kernel does not have that call, or a container forbids it, the set polls its buses every
// millisecond. A set of descriptors and channels sleeps in epoll. A set of both has one helper
// thread, which sleeps in epoll.
//
// Threads: one thread at a time, any thread. Every call except interrupt() and size() that overlaps
// a wait returns kMisuse. While a call on the set runs, its sources count as in use. A source's own
// interrupt() does not end the set's wait: use the set's interrupt().
//
// Ownership: the set does not own its sources. A source that is moved stays in the set. A source
// that is destroyed leaves it; another thread must not destroy it during a wait. Remove a
// descriptor before you close it.
//
// Fork: in a forked child all calls on the parent's set return kForked, and the destructor does
// nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lapwing/result.h"
#include "lapwing/waiting.h"

namespace lapwing {

class Subscriber;
class ConflatedReader;
class LoadedState;
class ChannelConsumer;
class ChannelProducer;
class Duplex;
class ChannelListener;
class DuplexServer;
class WaitSource;

// The most sources in one set: the number of doorbells that one futex_waitv takes, less the set's
// own.
inline constexpr std::size_t kWaitSetSourcesMax = 127;

struct WaitSetOptions {
  WaitStrategy wait = WaitStrategy::kBackoff;
};

enum class SourceKind : std::uint32_t {
  kSubscriber = 1,
  kConflatedReader = 2,
  kLoadedState = 3,
  kConsumer = 4,
  kProducer = 5,
  kDuplex = 6,
  kListener = 7,
  kDescriptor = 8,
  kTimer = 9,
  kServer = 10,
};

// Identifies a source within its set, which never reuses an id. 0: no source.
using SourceId = std::uint64_t;

// A source that is ready.
struct Ready {
  SourceKind kind = {};
  std::uint32_t events = 0;  // kDescriptor: of poll(2), including POLLERR and POLLHUP
  std::uint64_t token = 0;   // as passed to add()
  SourceId source = 0;
  std::uint64_t expirations = 0;  // kTimer: since it was last ready
};

class WaitSet {
 public:
  // Errors: kLimit (no descriptor is left), kSystem.
  [[nodiscard]] static absl::StatusOr<WaitSet> open(WaitSetOptions options = {});
  WaitSet(WaitSet&&) noexcept;
  WaitSet& operator=(WaitSet&&) noexcept;
  ~WaitSet();

  // Choose any tokens; they need not differ. Errors of all add functions: kLimit
  // (kWaitSetSourcesMax; no memory for epoll; no thread for a set of buses and descriptors).
  // kMisuse: another call waits, the source was moved from, or it is already in a set. kForked.
  //
  // Adds a subscriber, or another reader of a bus. kInvalidArgument: its wait strategy is kBusy and
  // the set's is not, so it could not be woken.
  [[nodiscard]] absl::StatusOr<SourceId> add(Subscriber& subscriber, std::uint64_t token);
  [[nodiscard]] absl::StatusOr<SourceId> add(ConflatedReader& reader, std::uint64_t token);
  [[nodiscard]] absl::StatusOr<SourceId> add(LoadedState& loaded, std::uint64_t token);
  [[nodiscard]] absl::StatusOr<SourceId> add(ChannelConsumer& consumer, std::uint64_t token);
  // Ready when there is room for a message of `bytes`. A claim that is open during wait() is
  // abandoned. kInvalidArgument: `bytes` is above the maximum.
  [[nodiscard]] absl::StatusOr<SourceId> add(ChannelProducer& producer, std::size_t bytes,
                                             std::uint64_t token);
  [[nodiscard]] absl::StatusOr<SourceId> add(Duplex& duplex, std::uint64_t token);
  [[nodiscard]] absl::StatusOr<SourceId> add(ChannelListener& listener, std::uint64_t token);
  // Counts as one source, regardless of how many clients it has.
  [[nodiscard]] absl::StatusOr<SourceId> add(DuplexServer& server, std::uint64_t token);
  // `events`: POLLIN, POLLOUT, POLLPRI, POLLRDHUP of poll(2). kInvalidArgument: other events, no
  // such descriptor, one that cannot be polled (a regular file), or one that is already in the set.
  [[nodiscard]] absl::StatusOr<SourceId> add_fd(int fd, std::uint32_t events, std::uint64_t token);
  // Ready at `at`, and then every `every`; 0: only once, until set_timer().
  [[nodiscard]] absl::StatusOr<SourceId> add_timer(Deadline at, std::uint64_t token,
                                                   std::chrono::nanoseconds every = {});
  // Resets a timer; Deadline::never() stops it. kNotFound: `timer` is not a timer of this set.
  Result<> set_timer(SourceId timer, Deadline at, std::chrono::nanoseconds every = {});
  // kNotFound: it is not, or no longer, in the set.
  Result<> remove(SourceId source);
  [[nodiscard]] std::size_t size() const;  // sources

  // Waits until a source is ready and returns it. Errors: kTimedOut, kWouldBlock, kInterrupted;
  // kMisuse (another call is under way); kForked.
  Result<Ready> wait(Deadline deadline);

  // Ends the wait that is under way, or else the next one. Safe from any thread and from a signal
  // handler.
  void interrupt() noexcept;

 private:
  friend absl::StatusOr<SourceId> add_source(WaitSet& set, SourceKind kind, WaitSource* source,
                                             std::uint64_t token, const std::string& what);
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  explicit WaitSet(StateHandle state);
  StateHandle state_;
};

}  // namespace lapwing
