// Lets a thread sleep while nothing is published. It consists of an eventfd that other threads
// signal, and a bit in the attention word that makes the publish path signal the eventfd.
//
// The protocol and its proof are in lapwing/detail/attention_word.h. This class adds the system
// calls.
//
// Thread safety: signal() by any thread; the rest by the sleeping thread.
#pragma once

#include <poll.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/detail/attention_word.h"
#include "os/kernel.h"
#include "proto/ring_words.h"

namespace lapwing {

// The sleepers' bits in the attention word.
inline constexpr std::uint32_t kServiceSleeper = 1;
inline constexpr std::uint32_t kFileSleeper = 2;

class IdleSleeper {
 public:
  // No other sleeper may use `bit`. Borrows the word.
  IdleSleeper(detail::AttentionWord& attention, std::uint32_t bit)
      : attention_(&attention), bit_(bit) {}

  absl::Status init() {
    absl::StatusOr<UniqueFd> fd = make_eventfd();
    if (!fd.ok()) return fd.status();
    fd_ = *std::move(fd);
    return absl::OkStatus();
  }

  int fd() const { return fd_.get(); }
  void signal() const { signal_eventfd(fd_.get()); }
  void drain() const { drain_eventfd(fd_.get()); }

  // F1 to F3. Returns true if it is safe to sleep on fd(): head is still `seen`, and the thread
  // that moves head will signal.
  bool prepare_to_sleep(const RingWords& words, Sequence seen) {
    attention_->raise(bit_);
    membarrier_private();
    if (load_head(words) == seen) return true;
    attention_->lower(bit_);
    return false;
  }
  // Makes the publish path call attend() after its next record, whether or not a thread sleeps.
  void demand_attention() { attention_->raise(bit_); }
  void wake_up() { attention_->lower(bit_); }

  // Waits for a signal for at most timeout_ns, and drains the eventfd.
  void wait(std::uint64_t timeout_ns) const {
    const timespec timeout = timespec_of(timeout_ns);
    pollfd poll_fd{fd_.get(), POLLIN, 0};
    if (ppoll(&poll_fd, 1, &timeout, nullptr) > 0) drain();
  }

 private:
  UniqueFd fd_;
  detail::AttentionWord* attention_;
  std::uint32_t bit_;
};

}  // namespace lapwing
