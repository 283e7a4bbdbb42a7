#include "os/exclusive_lock.h"

#include <sys/file.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

constexpr std::size_t kPidTextMax = 32;

std::string holder_of(int fd) {
  char text[kPidTextMax];
  const ssize_t bytes = ::pread(fd, text, sizeof text, 0);
  std::uint64_t pid = 0;
  if (bytes <= 0 ||
      !absl::SimpleAtoi(absl::string_view(text, static_cast<std::size_t>(bytes)), &pid)) {
    return "a process that has not written its number yet";
  }
  return absl::StrCat("process ", pid);
}

// For people and messages only: nothing is decided by what stands in the file.
void write_holder(int fd) {
  const std::string text = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(fd, 0) != 0) return;
  if (::pwrite(fd, text.data(), text.size(), 0) < 0) return;
}

}  // namespace

absl::StatusOr<ExclusiveLock> ExclusiveLock::take(const std::string& path, std::uint64_t retry_ns,
                                                  const std::string& does) {
  absl::StatusOr<LockFile> lock = take_lock_file(path, {.retry_ns = retry_ns});
  if (!lock.ok()) return lock.status();
  if (!lock->is_ours) {
    return make_error(Errc::kBusTaken, absl::StrCat(path, " is held by ", holder_of(lock->fd.get()),
                                                    ", which ", does));
  }
  write_holder(lock->fd.get());
  return ExclusiveLock(*std::move(lock));
}

void ExclusiveLock::give_up() const {
  ::flock(fd(), LOCK_UN);
}

}  // namespace lapwing
