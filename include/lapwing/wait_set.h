// Waits for several sources in one thread: buses, ends of channels, listeners, descriptors, timers.
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
// wait() says which source has something, and takes nothing from it: the caller then asks the
// source itself, with Deadline::now() or a call whose name begins with try_. What is left there
// makes the source ready again, so a caller may take one record and wait again.
//
// Ready is: of a subscriber, a ConflatedReader or a LoadedState, a record, an event or an entry of
// a state; of a consumer, a message; of a producer, room for a message of the size that was given;
// of a duplex, a call, a message, a reply, or a call of its own that has timed out; of a listener,
// something to do for accept() or tend(); of a DuplexServer, something to do for try_wait(), which
// may be no event yet. A source that has ended is ready until it is removed.
//
// Fair: a wait begins to look behind the source that it returned last. Descriptors and timers are
// looked at in every 64th wait even where other sources are always ready, and before any sleep.
//
// A source does in the set what it does in a wait of its own: a subscriber finds and joins its bus,
// notices that its publisher has died, reports, is stale, attaches to the next one. It does so
// while wait() runs; a program that is busy elsewhere delays it, as it delays a subscriber's own
// calls.
//
// A set that sleeps is woken by whatever makes a source ready, as the source itself would be, and no
// source has a thread for that. A set of buses sleeps on their doorbells (futex_waitv, Linux 5.16;
// where the kernel has none, or a container refuses it, the set looks at its buses every
// millisecond). A set of descriptors and channels sleeps in epoll. A set of both has one helper
// thread, which sleeps in epoll.
//
// Threads: one thread at a time, any thread; every call but interrupt() and size() that overlaps a
// wait is answered with kMisuse. While a call of the set runs its sources count as used. A source's
// own interrupt() does not end the set's wait: use the set's.
//
// Ownership: the set owns no source. A source that is moved stays in the set; one that is destroyed
// leaves it, which no other thread may do during a wait. A descriptor is removed before it is
// closed.
//
// Fork: in a forked child the set is the parent's. wait() and the others answer kForked, and the
// destructor does nothing.
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

// Of one set: as many doorbells as one futex_waitv takes, less the set's own.
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

// Names a source within its set; never used again there. 0 is none.
using SourceId = std::uint64_t;

// Which source is ready.
struct Ready {
  SourceKind kind = {};
  std::uint32_t events = 0;  // kDescriptor: of poll(2), POLLERR and POLLHUP included
  std::uint64_t token = 0;   // as it was given to add()
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

  // Tokens are the caller's, and need not differ. Errors of all: kLimit (kWaitSetSourcesMax; no
  // memory for epoll; no thread for a set of buses and descriptors), kMisuse (another call waits;
  // the source was moved from, or is in a set), kForked.
  //
  // A subscriber, or what reads a bus like one. It may wait busily only where the set does, since
  // nobody rings for it: kInvalidArgument.
  [[nodiscard]] absl::StatusOr<SourceId> add(Subscriber& subscriber, std::uint64_t token);
  [[nodiscard]] absl::StatusOr<SourceId> add(ConflatedReader& reader, std::uint64_t token);
  [[nodiscard]] absl::StatusOr<SourceId> add(LoadedState& loaded, std::uint64_t token);
  [[nodiscard]] absl::StatusOr<SourceId> add(ChannelConsumer& consumer, std::uint64_t token);
  // Ready when there is room for a message of `bytes`; a claim that is open during wait() is given
  // up. kInvalidArgument: `bytes` is above the maximum.
  [[nodiscard]] absl::StatusOr<SourceId> add(ChannelProducer& producer, std::size_t bytes,
                                             std::uint64_t token);
  [[nodiscard]] absl::StatusOr<SourceId> add(Duplex& duplex, std::uint64_t token);
  [[nodiscard]] absl::StatusOr<SourceId> add(ChannelListener& listener, std::uint64_t token);
  // One source, however many clients it has.
  [[nodiscard]] absl::StatusOr<SourceId> add(DuplexServer& server, std::uint64_t token);
  // `events`: POLLIN, POLLOUT, POLLPRI, POLLRDHUP of poll(2). kInvalidArgument: others; no such
  // descriptor; one that cannot be polled, as of a regular file; one that is in the set already.
  [[nodiscard]] absl::StatusOr<SourceId> add_fd(int fd, std::uint32_t events, std::uint64_t token);
  // Ready once `at` has come, and then every `every`; 0: once, and then not until set_timer().
  [[nodiscard]] absl::StatusOr<SourceId> add_timer(Deadline at, std::uint64_t token,
                                                   std::chrono::nanoseconds every = {});
  // Sets a timer anew; Deadline::never() stops it. kNotFound: `timer` is none of this set.
  Result<> set_timer(SourceId timer, Deadline at, std::chrono::nanoseconds every = {});
  // kNotFound: it is not in the set (any more).
  Result<> remove(SourceId source);
  [[nodiscard]] std::size_t size() const;  // sources

  // The next source that is ready; waits until one is. Errors: kTimedOut, kWouldBlock, kInterrupted;
  // kMisuse (another call is under way); kForked.
  Result<Ready> wait(Deadline deadline);

  // Ends the wait that is under way, or else the next one. From any thread, also from a signal
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
