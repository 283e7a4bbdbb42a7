// Time, futex, eventfd, membarrier: all system calls with which the bus waits and wakes.
//
// Thread safety: every function may be called from any thread. Each retries on EINTR where that is
// correct.
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

// Converts a duration from the public interface. A negative one becomes 0.
constexpr std::uint64_t ns_of(std::chrono::nanoseconds duration) {
  return duration.count() > 0 ? static_cast<std::uint64_t>(duration.count()) : 0;
}

constexpr double seconds_of(std::uint64_t ns) {
  return static_cast<double>(ns) / double{kNsPerSecond};
}

constexpr timespec timespec_of(std::uint64_t ns) {
  return {static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
}

// Returns now_ns + ns, or the largest number if that overflows.
constexpr std::uint64_t after_ns(std::uint64_t now_ns, std::uint64_t ns) {
  return now_ns + std::min(ns, std::numeric_limits<std::uint64_t>::max() - now_ns);
}

std::uint64_t monotonic_ns();  // CLOCK_MONOTONIC
std::uint64_t wall_ns();       // CLOCK_REALTIME, UTC

// Sleeps while *word == expected, at most timeout_ns. The word may be in a read-only shared
// mapping. Returns after a wake-up, a changed word, a signal or the timeout; the caller must check.
void futex_wait(const std::uint32_t* word, std::uint32_t expected, std::uint64_t timeout_ns);
// A word, and the value at which a thread sleeps on it.
struct FutexWord {
  const std::uint32_t* word = nullptr;
  std::uint32_t expected = 0;
};
inline constexpr std::size_t kFutexWordsMax = 128;  // of one futex_waitv
// The same for up to kFutexWordsMax words. Returns the index of a word that was woken, or
// words.size() if none was, because of a changed word, a signal or the timeout. Returns nullopt at
// once if the kernel does not have futex_waitv (before Linux 5.16) or a container forbids it.
std::optional<std::size_t> futex_wait_any(std::span<const FutexWord> words,
                                          std::uint64_t timeout_ns);
// Wakes every thread of every process that sleeps on the word. Returns the number of woken threads.
int futex_wake_all(std::uint32_t* word);

// Sleeps until `fd` is readable or hung up, at most timeout_ns. If fd is -1, sleeps for timeout_ns.
// A signal ends the sleep early; the caller must check.
void wait_readable(int fd, std::uint64_t timeout_ns);
// The same for several descriptors, until until_ns (CLOCK_MONOTONIC).
void wait_any_readable(std::span<pollfd> entries, std::uint64_t until_ns);

// Registers this process for membarrier_private; kUnsupported if the kernel refuses.
absl::Status register_membarrier_private();
// Executes a full barrier on every running thread of this process
// (MEMBARRIER_CMD_PRIVATE_EXPEDITED).
void membarrier_private();

// The same between processes that share memory. Registers this process, so that membarrier_global
// affects it; kUnsupported if the kernel refuses.
absl::Status register_membarrier_global();
// Executes a full barrier on every running thread of every registered process, and on the caller,
// which need not be registered (MEMBARRIER_CMD_GLOBAL_EXPEDITED).
void membarrier_global();

// Makes a non-blocking, close-on-exec eventfd with value 0.
absl::StatusOr<UniqueFd> make_eventfd();
void signal_eventfd(int fd);
void drain_eventfd(int fd);

absl::StatusOr<Id128> random_id();  // getrandom
absl::StatusOr<Id128> boot_id();    // /proc/sys/kernel/random/boot_id

}  // namespace lapwing
