// A descriptor for event loops that is readable when a subscriber's poll() has something to do.
//
// A doorbell is a futex word, which no event loop can wait for. So a helper thread parks on it and
// signals an eventfd. poll() arms it when it has nothing to return; armed, the helper signals once:
// when head passes what the subscriber has seen, or after a tick, so that poll() gets to its upkeep
// (a publisher's death, reports, staleness). An event loop that calls poll() until kNothing each
// time the descriptor is readable therefore misses nothing, and a busy publisher costs the helper
// no more than one signal for each such round.
//
// Thread safety: fd(), arm() and signal() belong to the subscriber's thread; the helper touches
// only what is behind the mutex. Owns the eventfd and the thread, and a share of the mapping while
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

inline constexpr std::uint64_t kTickNs = 100'000'000;        // while there is a ring to wait for
inline constexpr std::uint64_t kSeekingTickNs = 10'000'000;  // while there is none

class WakeDescriptor {
 public:
  // Errors: kSystem, kLimit: no descriptor or thread to be had; those of place_this_thread.
  static absl::StatusOr<std::unique_ptr<WakeDescriptor>> start(const ThreadPlacement& placement);
  ~WakeDescriptor();

  int fd() const { return event_.get(); }
  // Readable no longer, until head passes `seen` or a tick is over. Without a map: the seeking
  // tick.
  void arm(std::shared_ptr<const RingMap> map, Sequence seen);
  // Readable from now on.
  void signal();

 private:
  explicit WakeDescriptor(UniqueFd event) : event_(std::move(event)) {}
  void run();
  void watch(const RingMap* map, Sequence seen);

  UniqueFd event_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // these four behind the mutex
  bool armed_ = false;
  std::shared_ptr<const RingMap> map_;
  Sequence seen_ = kNoSequence;
  std::thread helper_;
};

}  // namespace lapwing
