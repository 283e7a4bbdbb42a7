#include "publisher/lock_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/error.h"

namespace lapwing {

void LockWatch::look(std::uint64_t now_ns) {
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kLockWatchNs;
  for (ExclusiveLock& lock : *locks_) {
    const absl::StatusOr<bool> named = lock.is_named();
    if (named.ok() && !*named) take_again(lock);
  }
}

void LockWatch::take_again(ExclusiveLock& lock) {
  const std::string path = lock.path();
  absl::StatusOr<ExclusiveLock> taken = ExclusiveLock::take(path, 0);
  if (taken.ok()) {
    lock = *std::move(taken);
    others_.erase(path);
    log_(absl::StrCat("the lock ", path,
                      " was removed by somebody and is made again: keep cleaners away from it"));
    return;
  }
  if (!others_.insert(path).second) return;
  log_(absl::StrCat("the lock ", path, " was removed by somebody, and cannot be made again: ",
                    std::string(taken.status().message())));
}

}  // namespace lapwing
