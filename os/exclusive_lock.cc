#include "os/exclusive_lock.h"

#include <sys/file.h>
#include <unistd.h>

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/lock_holder.h"

namespace lapwing {
namespace {

// Uses the kernel's list first, because the process id in the file may be from another container.
std::string held_by(int fd, const LockUse& use) {
  const std::optional<LockHolder> holder = flock_holder(fd);
  if (holder && !has_ended(holder->pid)) {
    return absl::StrCat("is held by ", text_of(*holder), ", which ", use.does);
  }
  const pid_t pid = pid_in(fd);
  if (pid == 0) {
    return absl::StrCat("is held by a process that has not written its id yet, and which ",
                        use.does);
  }
  if (!has_ended(pid)) return absl::StrCat("is held by process ", pid, ", which ", use.does);
  return absl::StrCat("is still locked: ", ended_text(use.who, pid));
}

// The id is for messages. os/file_lock.cc also uses it to recognise a reader's lock.
void write_holder(int fd) {
  const std::string text = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(fd, 0) != 0) return;
  if (::pwrite(fd, text.data(), text.size(), 0) < 0) return;
}

}  // namespace

absl::StatusOr<ExclusiveLock> ExclusiveLock::take(const std::string& path, std::uint64_t retry_ns,
                                                  const LockUse& use) {
  absl::StatusOr<LockFile> lock = take_lock_file(path, {.retry_ns = retry_ns});
  if (!lock.ok()) return lock.status();
  if (!lock->is_ours) {
    return make_error(Errc::kInUse, absl::StrCat(path, " ", held_by(lock->fd.get(), use)));
  }
  write_holder(lock->fd.get());
  return ExclusiveLock(*std::move(lock));
}

void ExclusiveLock::give_up() const {
  ::flock(fd(), LOCK_UN);
}

}  // namespace lapwing
