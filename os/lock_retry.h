// How long, and how often, a starter asks for a lock: the kernel may still be ending the last write
// of a publisher that was killed, and holds its locks until then.
//
// Thread safety: free functions.
#pragma once

#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

namespace lapwing {

inline constexpr std::uint64_t kLockRetryNs = 10'000'000'000;
inline constexpr int kLockRetryIntervalMs = 20;

// Calls attempt() until it gives something else than EWOULDBLOCK or EINTR, or retry_ns have passed.
// attempt() gives 0 or an errno; the last one is returned, EWOULDBLOCK for a lock that stays taken.
template <typename Attempt>
int retry_lock(std::uint64_t retry_ns, Attempt attempt) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(retry_ns);
  for (;;) {
    const int failure = attempt();
    if (failure == EINTR) continue;
    if (failure != EWOULDBLOCK) return failure;
    if (std::chrono::steady_clock::now() >= deadline) return EWOULDBLOCK;
    ::poll(nullptr, 0, kLockRetryIntervalMs);
  }
}

}  // namespace lapwing
