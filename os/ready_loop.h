// Waits for many sources in one thread: decides which sources to check and when, how long to spin
// and yield, and how to sleep.
//
//   a check         polls the sources in turn
//   of everything   polls the descriptors (one system call) and the clock first
//
// Most checks omit the descriptors and the clock. Every kChecksPerRound-th check is of everything,
// and so is the last one before the loop sleeps, yields, or returns without a result.
//
// The loop sleeps until the time that its sources return, at most kReadySleepNsMax:
//   in epoll                      if its sources have no words, and it watches a descriptor
//   on their words and its bell   otherwise; a helper rings the bell for descriptors
//
// The loop's owner holds the sources, in a type with two functions:
//   Result<Value> check(bool everything)               kWouldBlock: none is ready
//   void rest(FutexWord bell, std::uint64_t until_ns)  checks once more, and calls park() with
//                                                      `bell` and the words of the sources
//
// Thread safety: one thread at a time; a call made during a wait is refused. interrupt() may be
// called in any thread and in a signal handler.
// Ownership: owns its descriptors and the helper. The caller owns the watched descriptors. Does
// nothing in a forked child.
#pragma once

#include <sys/epoll.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/error.h"
#include "lapwing/waiting.h"
#include "os/busy_flag.h"
#include "os/fork.h"
#include "os/interrupt.h"
#include "os/kernel.h"
#include "os/unique_fd.h"
#include "os/waiter.h"
#include "os/watch.h"

namespace lapwing {

inline constexpr std::uint32_t kChecksPerRound = 64;
inline constexpr std::uint64_t kReadySleepNsMax = 1'000'000'000;
// The sleep between two checks of everything, if the kernel does not have futex_waitv.
inline constexpr std::uint64_t kNoWaitvSleepNs = 1'000'000;
// The tag of the loop's descriptor. Sources have other tags, but never 0.
inline constexpr std::uint64_t kWakeUpTag = ~std::uint64_t{0};

// Rings a bell when a descriptor is ready, for a thread that sleeps on futex words.
//
// A thread can sleep in epoll or on futex words, but not on both. A thread that waits for both
// sleeps on the words and on a bell, while a helper thread sleeps in epoll and rings the bell. The
// opposite, a helper that sleeps on the words, would be worse. Each wake-up of a bus changes the
// value to sleep on next, which the helper would have to receive first. The set of watched
// descriptors does not change.
//
//     sleeping thread                                helper
//     S1 b = bell                                    H1 epoll: one is ready
//     S2 not armed: armed = true, wake the helper    H2 armed = false
//     S3 sleep while bell == b                       P2 bell = bell + 1
//                                                    P3 wake the bell's sleeper
//
// A descriptor that is ready at S2, or becomes ready later, ends S3. S2 leaves the helper armed (a
// mutex guards `armed`). An armed helper reaches H1, which finds the descriptor, or has found
// another one. In both cases H2 is after S2, and so P2 is after S1: the bell has changed before S3,
// or P3 ends S3 (proto/ring_words.h). Without S2, the helper would not poll again after its first
// ring. Without H2, it would never stop ringing.
//
// Thread safety: one thread. Owns the helper; the caller owns the bell and the descriptors.
class DescriptorBell {
 public:
  // `watch` is the epoll set. `wake_up` is an eventfd in that set, which ends the helper.
  DescriptorBell(Interrupt& bell, int watch, int wake_up)
      : bell_(bell), watch_(watch), wake_up_(wake_up) {}
  DescriptorBell(const DescriptorBell&) = delete;
  DescriptorBell& operator=(const DescriptorBell&) = delete;
  ~DescriptorBell();

  // Starts the helper, if it is not running yet. Errors: kLimit.
  absl::Status start();
  // Makes the helper ring the bell once, when a descriptor is ready.
  void arm();

 private:
  void help();

  Interrupt& bell_;
  const int watch_;
  const int wake_up_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool armed_ = false;     // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::thread helper_;
};

struct LoopDescriptors {
  // Errors: those of `watch`, kLimit, kSystem.
  static absl::StatusOr<LoopDescriptors> make(absl::StatusOr<Watch> watch);

  Watch watch;
  UniqueFd wake_up;  // readable after interrupt()
};

class ReadyLoop {
 public:
  // `owner` is the owner's name in messages: "wait set".
  ReadyLoop(const std::string& owner, WaitStrategy strategy, LoopDescriptors descriptors)
      : waiter_(strategy),
        watch_(std::move(descriptors.watch)),
        wake_up_(std::move(descriptors.wake_up)),
        helper_(interrupt_, watch_.fd(), wake_up_.get()),
        fork_(owner) {}

  const ForkWatch& made() const { return fork_; }
  // Returns whether another call on the owner may be made now: kOk, kForked, or kMisuse during a
  // wait.
  Errc enter() const {
    if (fork_.in_child()) return Errc::kForked;
    return waiting_.is_taken() ? Errc::kMisuse : Errc::kOk;
  }
  // For an owner that is itself a source: behaves as if a wait were under way. Returns false if one
  // already is.
  bool begin_wait() { return waiting_.try_take(); }
  void end_wait() { waiting_.release(); }

  // Waits until a check finds something, and returns it. Errors: those of a check; kTimedOut;
  // kWouldBlock (deadline_ns is 0); kInterrupted; kMisuse (another wait is under way); kForked.
  template <typename Sources>
  auto wait(Sources& sources, std::uint64_t deadline_ns) -> decltype(sources.check(true));
  // Ends the current wait, or else the next one.
  void interrupt() noexcept;

  // Counts a check. Returns true if it must be of everything.
  bool is_round_due();
  // Makes the next check a check of everything.
  void begin_round() { checks_left_ = 0; }

  // Like Watch::add().
  int watch(int fd, std::uint32_t events, std::uint64_t tag);
  // `fd` is -1 if it was already closed.
  void stop_watching(int fd);
  bool watches() const { return watched_ > 0; }
  // Like Watch::ready(), but also takes the wake-up of an interrupt.
  std::span<const epoll_event> take_ready(std::span<epoll_event> room);
  // For an event loop: readable when a descriptor is ready, after an interrupt, and from the time
  // passed to wake_at(). -1 in a forked child.
  int fd() const { return watch_.fd(); }
  void wake_at(std::uint64_t at_ns) { watch_.wake_at(at_ns); }

  // Must be called before a sleep on the sources' words while a descriptor is watched. Errors:
  // kLimit.
  absl::Status start_helper() { return helper_.start(); }
  // Sleeps as described above. `words` begins with the bell. Returns the index of the woken word,
  // or words.size() if it is unknown.
  std::size_t park(std::span<const FutexWord> words, std::uint64_t until_ns);

 private:
  template <typename Sources>
  auto wait_alone(Sources& sources, std::uint64_t deadline_ns) -> decltype(sources.check(true));

  Waiter waiter_;
  Interrupt interrupt_;
  Watch watch_;
  UniqueFd wake_up_;
  DescriptorBell helper_;
  std::size_t watched_ = 0;        // descriptors, without wake_up_
  std::uint32_t checks_left_ = 0;  // before the next check of everything
  BusyFlag waiting_;
  ForkWatch fork_;
};

template <typename Sources>
auto ReadyLoop::wait(Sources& sources, std::uint64_t deadline_ns) -> decltype(sources.check(true)) {
  if (fork_.in_child()) return Errc::kForked;
  if (!waiting_.try_take()) return Errc::kMisuse;
  const auto found = wait_alone(sources, deadline_ns);
  waiting_.release();
  return found;
}

template <typename Sources>
auto ReadyLoop::wait_alone(Sources& sources, std::uint64_t deadline_ns)
    -> decltype(sources.check(true)) {
  for (;;) {
    const bool everything = is_round_due();
    if (const auto found = sources.check(everything); found.error() != Errc::kWouldBlock) {
      waiter_.reset();
      return found;
    }
    if (!everything) {
      if (deadline_ns != 0 && waiter_.spinning()) {
        waiter_.spin();
      } else {
        begin_round();
      }
      continue;
    }
    if (deadline_ns == 0) return Errc::kWouldBlock;
    if (interrupt_.take()) return Errc::kInterrupted;
    if (monotonic_ns() >= deadline_ns) return Errc::kTimedOut;
    if (waiter_.stay_awake()) continue;
    const FutexWord bell = interrupt_.word(interrupt_.bell());  // S1
    if (!interrupt_.is_raised()) sources.rest(bell, deadline_ns);
    begin_round();
  }
}

inline bool ReadyLoop::is_round_due() {
  const bool is_due = checks_left_ == 0;
  checks_left_ = is_due ? kChecksPerRound - 1 : checks_left_ - 1;
  return is_due;
}

}  // namespace lapwing
