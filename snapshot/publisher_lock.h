// The lock that makes a publisher the only one of its bus, and of its journal: flock on
// publisher.lock.
//
// The kernel holds it until every duplicate of the descriptor is closed. The file thread's io_uring
// is given one, so that the last write of a killed publisher has ended before the next publisher
// starts. A recorder takes one of its recording (cli/record.cc).
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace lapwing {

inline constexpr char kLockFileName[] = "publisher.lock";
inline constexpr std::uint64_t kLockRetryNs =
    10'000'000'000;  // a starter waits this long for the lock
inline constexpr int kLockRetryIntervalMs = 20;

// Held until the object and every duplicate of its descriptor are gone. The file stays.
class PublisherLock {
 public:
  // Retries for up to retry_ns (the kernel may still finish a killed publisher's last write), then
  // kBusTaken with the holder's pid. `path` is <bus>/publisher.lock or <journal
  // root>/publisher.lock; `does` is what the holder does, and what the other is to do about it.
  // Errors: kBusTaken, kNotPermitted, kNotALapwingFile, kNotFound, kSystem.
  static absl::StatusOr<PublisherLock> take(
      const std::string& path, std::uint64_t retry_ns,
      const std::string& does = "publishes here; end it, or choose another directory");

  PublisherLock(PublisherLock&& other) noexcept;
  PublisherLock& operator=(PublisherLock&& other) noexcept;
  ~PublisherLock();
  int fd() const { return fd_; }

 private:
  explicit PublisherLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace lapwing
