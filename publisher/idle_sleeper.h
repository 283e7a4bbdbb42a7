// A thread's bed: an eventfd that others signal, and the flag by which the publish path knows to do
// so.
//
// The protocol and its argument are at IdleFlag in proto/thread_words.h; this adds the system
// calls.
//
// Thread safety: signal() and attend() from any thread; the rest by the sleeping thread.
#pragma once

#include <poll.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/kernel.h"
#include "proto/ring_words.h"
#include "proto/thread_words.h"

namespace lapwing {

class IdleSleeper {
 public:
  absl::Status init() {
    absl::StatusOr<UniqueFd> fd = make_eventfd();
    if (!fd.ok()) return fd.status();
    fd_ = *std::move(fd);
    return absl::OkStatus();
  }

  int fd() const { return fd_.get(); }
  void signal() const { signal_eventfd(fd_.get()); }
  void drain() const { drain_eventfd(fd_.get()); }

  // F1 to F3. True if it is safe to sleep on fd(): head is still `seen`, and whoever moves it will
  // signal.
  bool prepare_to_sleep(const RingWords& words, Sequence seen) {
    flag_.raise();
    membarrier_private();
    if (load_head(words) == seen) return true;
    flag_.lower();
    return false;
  }
  // Makes the publish path call attend() after its next record, whoever sleeps or does not.
  void demand_attention() { flag_.raise(); }
  void wake_up() { flag_.lower(); }

  // The publish path, after head has moved: one load …
  bool wants_attention() const { return flag_.is_raised(); }
  // … and a system call once per idle period; true if this was it.
  bool attend() {
    if (!flag_.take()) return false;
    signal();
    return true;
  }

  // Waits for a signal for at most timeout_ns and drains the eventfd.
  void wait(std::uint64_t timeout_ns) const {
    timespec timeout{};
    timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
    timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
    pollfd poll_fd{fd_.get(), POLLIN, 0};
    if (ppoll(&poll_fd, 1, &timeout, nullptr) > 0) drain();
  }

 private:
  UniqueFd fd_;
  IdleFlag flag_;
};

}  // namespace lapwing
