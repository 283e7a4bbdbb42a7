// A descriptor for event loops that is readable when a subscriber has something to do.
//
// A doorbell is a futex word, and an event loop cannot wait for one. So a helper thread parks on it
// and signals an eventfd. Subscriber::arm() arms the descriptor when nothing is available. The
// helper then signals once: when head passes what the subscriber has seen, or after a tick, so that
// the subscriber can do its upkeep (a publisher's death, reports, staleness). Each time the
// descriptor is readable, an event loop must read until nothing is available; then it misses
// nothing. A busy publisher makes the helper signal at most once per such round.
//
// Thread safety: fd(), arm() and signal() belong to the subscriber's thread; the helper uses only
// members that the mutex protects. Owns the eventfd and the thread, and shares the mapping while
// armed on it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "bus/ring_map.h"
#include "lapwing/sequence.h"
#include "lapwing/thread_placement.h"
#include "os/unique_fd.h"

namespace lapwing {

inline constexpr std::uint64_t kTickNs = 100'000'000;        // if there is a ring to wait for
inline constexpr std::uint64_t kSeekingTickNs = 10'000'000;  // if there is none

class WakeDescriptor {
 public:
  // Errors: kSystem, kLimit: no descriptor or thread can be created; those of place_this_thread.
  static absl::StatusOr<std::unique_ptr<WakeDescriptor>> start(const ThreadPlacement& placement);
  ~WakeDescriptor();

  int fd() const { return event_.get(); }
  // Makes the descriptor unreadable until head passes `seen` or a tick has passed. Without a map,
  // the tick is kSeekingTickNs.
  void arm(std::shared_ptr<const RingMap> map, Sequence seen);
  // Makes the descriptor readable.
  void signal();

 private:
  explicit WakeDescriptor(UniqueFd event) : event_(std::move(event)) {}
  void run();
  void watch(const RingMap* map, Sequence seen);

  UniqueFd event_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // the mutex protects these four
  bool armed_ = false;
  std::shared_ptr<const RingMap> map_;
  Sequence seen_ = kNoSequence;
  std::thread helper_;
};

}  // namespace lapwing
