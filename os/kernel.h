// Time, futex, eventfd, membarrier: the one place where the bus asks the kernel to wait or wake.
//
// Thread safety: every function may be called from any thread. All retry on EINTR where that
// is right.
#pragma once

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/unique_fd.h"

namespace lapwing {

inline constexpr std::uint64_t kNsPerMs = 1'000'000;
inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

// A duration of the public interface; a negative one is none.
constexpr std::uint64_t ns_of(std::chrono::nanoseconds duration) {
  return duration.count() > 0 ? static_cast<std::uint64_t>(duration.count()) : 0;
}

constexpr double seconds_of(std::uint64_t ns) {
  return static_cast<double>(ns) / double{kNsPerSecond};
}

constexpr timespec timespec_of(std::uint64_t ns) {
  return {static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
}

// now_ns + ns, or the end of time.
constexpr std::uint64_t after_ns(std::uint64_t now_ns, std::uint64_t ns) {
  return now_ns + std::min(ns, std::numeric_limits<std::uint64_t>::max() - now_ns);
}

std::uint64_t monotonic_ns();  // CLOCK_MONOTONIC
std::uint64_t wall_ns();       // CLOCK_REALTIME, UTC

// Sleeps while *word == expected, at most timeout_ns. The word may lie in a read-only shared
// mapping. Returns on a wake, a changed word, a signal or the timeout; the caller looks for itself.
void futex_wait(const std::uint32_t* word, std::uint32_t expected, std::uint64_t timeout_ns);
// A word, and the value that it has while it is slept on.
struct FutexWord {
  const std::uint32_t* word = nullptr;
  std::uint32_t expected = 0;
};
inline constexpr std::size_t kFutexWordsMax = 128;  // of one futex_waitv
// The same for up to kFutexWordsMax words: returns when any of them wakes. The index of one that was
// woken; words.size() where none was: a word had changed, a signal, or the timeout. Nothing, and at
// once, where the kernel has no futex_waitv (before Linux 5.16) or a container refuses it.
std::optional<std::size_t> futex_wait_any(std::span<const FutexWord> words,
                                          std::uint64_t timeout_ns);
// Wakes every thread of every process that sleeps on the word. Returns how many it woke.
int futex_wake_all(std::uint32_t* word);

// Sleeps until `fd` is readable or hung up, at most timeout_ns; with fd -1 for timeout_ns. A signal
// ends it early; the caller looks for itself.
void wait_readable(int fd, std::uint64_t timeout_ns);
// The same for any of several, until until_ns (CLOCK_MONOTONIC).
void wait_any_readable(std::span<pollfd> entries, std::uint64_t until_ns);

// Registers this process for membarrier_private; kUnsupported if the kernel refuses.
absl::Status register_membarrier_private();
// A full barrier on every running thread of this process (MEMBARRIER_CMD_PRIVATE_EXPEDITED).
void membarrier_private();

// The same between processes, for memory that two of them share: registers this process as one
// that membarrier_global reaches; kUnsupported if the kernel refuses.
absl::Status register_membarrier_global();
// A full barrier on every running thread of every process that has registered, and on the caller,
// which need not have (MEMBARRIER_CMD_GLOBAL_EXPEDITED).
void membarrier_global();

// A non-blocking, close-on-exec eventfd with value 0.
absl::StatusOr<UniqueFd> make_eventfd();
void signal_eventfd(int fd);
void drain_eventfd(int fd);

absl::StatusOr<Id128> random_id();  // getrandom
absl::StatusOr<Id128> boot_id();    // /proc/sys/kernel/random/boot_id

}  // namespace lapwing
