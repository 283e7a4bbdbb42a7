#include "publisher/lock_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/path.h"

namespace lapwing {
namespace {

// The identity of the directory that is currently at the lock's path; default-constructed if there
// is none.
DirectoryIdentity directory_at(const ExclusiveLock& lock) {
  return directory_identity(directory_of(lock.path())).value_or(DirectoryIdentity{});
}

}  // namespace

LockWatch::LockWatch(std::vector<ExclusiveLock>& locks, LogHook log)
    : locks_(&locks), log_(std::move(log)) {
  for (const ExclusiveLock& lock : locks) directories_.push_back(directory_at(lock));
}

void LockWatch::look(std::uint64_t now_ns) {
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kLockWatchNs;
  for (std::size_t i = 0; i < locks_->size(); ++i) {
    ExclusiveLock& lock = (*locks_)[i];
    if (directory_at(lock) != directories_[i]) continue;
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
    log_(
        log_entry(LogEvent::kLockRemoved,
                  absl::StrCat("the lock ", path,
                               " was removed, and was created again. Exclude it from cleanup jobs"),
                  {{"path", path}}));
    return;
  }
  if (!others_.insert(path).second) return;
  log_(log_entry(LogEvent::kLockRemoved,
                 absl::StrCat("the lock ", path, " was removed, and cannot be created again: ",
                              std::string(taken.status().message())),
                 {{"path", path}}));
}

}  // namespace lapwing
