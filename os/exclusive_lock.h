// A lock that only one process can hold. A publisher locks its bus and its journal (flock on
// publisher.lock), and a recording locks its path (subscribers/recorder/recording.cc).
//
// The kernel holds it until every duplicate of the descriptor is closed. The file thread's io_uring
// has a duplicate, so that the last write of a killed publisher has ended before the next publisher
// starts.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "os/file_lock.h"

namespace lapwing {

inline constexpr char kLockFileName[] = "publisher.lock";

// Text for the message if the lock is held: the holder's activity, with the remedy, and its kind.
struct LockUse {
  std::string does = "publishes here; end it, or choose another directory";
  std::string who = "publisher";
};

// Held until the object and every duplicate of its descriptor are gone. The file remains.
class ExclusiveLock {
 public:
  // Retries for up to retry_ns, because the kernel may still be finishing a killed publisher's last
  // write. Then returns kInUse, with the holder's process id, command and user, or the fact that it
  // has ended.
  // A publisher's `path` is <bus>/publisher.lock or <journal root>/publisher.lock.
  // Errors: kInUse, kNotPermitted, kNotALapwingFile, kNotFound, kSystem.
  static absl::StatusOr<ExclusiveLock> take(const std::string& path, std::uint64_t retry_ns,
                                            const LockUse& use = {});

  int fd() const { return lock_.fd.get(); }
  const std::string& path() const { return lock_.file.path(); }

  // Releases the lock before the last copy of its descriptor is closed.
  void give_up() const;

  // Returns false once the lock's file was removed or replaced. A process that starts now would not
  // find the lock. Errors: those of the check.
  absl::StatusOr<bool> is_named() const { return lock_.file.is_named(); }

 private:
  explicit ExclusiveLock(LockFile lock) : lock_(std::move(lock)) {}
  LockFile lock_;
};

}  // namespace lapwing
