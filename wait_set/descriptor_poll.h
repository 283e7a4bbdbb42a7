// The descriptors of a wait set, in one epoll, and how a thread that sleeps on futex words learns
// of them.
//
// A thread sleeps in epoll or on futex words, not on both. In a set that has both, the set's thread
// sleeps on the words of its buses and on a bell of its own, and one helper thread sleeps in epoll
// and rings the bell. It is this way round because each wake-up of a bus changes the word that is
// slept on next, which a helper would have to be told; what epoll watches stays the same.
//
//     set's thread                                   helper
//     S1 b = bell                                    H1 epoll: one is ready
//     S2 not armed: armed = true, wake the helper    H2 armed = false
//     S3 sleep while bell == b                       P2 bell = bell + 1
//                                                    P3 wake the bell's sleeper
//
// A descriptor that is ready at S2, or becomes so later, ends S3. S2 leaves the helper armed (a
// mutex guards `armed`), and an armed helper comes to H1, which sees the descriptor, or has seen
// another one. Either way H2 comes after S2, and so P2 after S1: the bell has moved before S3, or
// P3 ends it (proto/ring_words.h). Without S2 the helper would not look again after its first ring;
// without H2 it would never stop ringing.
//
// Thread safety: one thread; wake() from any thread and from a signal handler.
// Ownership: epoll, the descriptor of wake(), the helper. Watched descriptors are the caller's.
#pragma once

#include <sys/epoll.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/interrupt.h"
#include "os/unique_fd.h"

namespace lapwing {

class DescriptorPoll {
 public:
  // `bell`: whose ring() ends the set's sleep. Errors: kLimit, kSystem.
  static absl::StatusOr<std::unique_ptr<DescriptorPoll>> make(Interrupt& bell);
  ~DescriptorPoll();

  // `tag`, not 0, comes back with what is ready. `events` as of epoll_ctl(2), level-triggered.
  // Errors: kInvalidArgument, kLimit, kSystem.
  absl::Status add(int fd, std::uint32_t events, std::uint64_t tag);
  // Before it is closed.
  void remove(int fd);

  // The descriptors that are ready now, at most as many as there is room for. Never waits.
  std::span<const epoll_event> take_ready(std::span<epoll_event> room);

  // Sleeps until a descriptor is ready, or wake().
  void wait_ready(std::uint64_t timeout_ns) const;
  void wake() noexcept;

  // Errors: kLimit.
  absl::Status start_helper();
  // From now on, until it has done so once, the helper rings the bell when a descriptor is ready.
  void arm_helper();

 private:
  DescriptorPoll(Interrupt& bell, UniqueFd epoll, UniqueFd wake)
      : bell_(bell), epoll_(std::move(epoll)), wake_(std::move(wake)) {}
  void help();

  Interrupt& bell_;
  UniqueFd epoll_;
  UniqueFd wake_;  // an eventfd, watched with tag 0
  std::mutex mutex_;
  std::condition_variable changed_;
  bool armed_ = false;  // these two behind the mutex
  bool stopping_ = false;
  std::thread helper_;
};

}  // namespace lapwing
