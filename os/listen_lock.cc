#include "os/listen_lock.h"

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/path.h"

namespace lapwing {
namespace {

constexpr int kRetryIntervalMs = 1;

}  // namespace

absl::StatusOr<ListenLock> ListenLock::take(const std::string& path, const SocketKind& kind) {
  const std::string lock_path = absl::StrCat(path, ".lock");
  absl::StatusOr<LockFile> lock = take_lock_file(
      lock_path,
      {.retry_ns = kListenLockWaitNs, .interval_ms = kRetryIntervalMs, .own_file_only = true});
  if (errno_of(lock.status()) == ENAMETOOLONG) {
    return make_error(Errc::kPathTooLong, absl::StrCat("no file can be named ", lock_path,
                                                       "; use a shorter ", kind.place));
  }
  if (errno_of(lock.status()) == ENOENT) {
    return make_error(Errc::kNotFound,
                      absl::StrCat("there is no directory ", directory_of(lock_path),
                                   "; make it, or use another ", kind.place));
  }
  if (!lock.ok()) return lock.status();
  if (lock->is_ours) return ListenLock(*std::move(lock));
  return make_error(Errc::kInUse,
                    absl::StrCat("another process is making the ", kind.name, " ", path,
                                 " and holds ", lock_path, "; try again when it is done"));
}

ListenLock::~ListenLock() {
  // Remove the name while the lock is held. A waiting process detects that and creates a new
  // file.
  if (lock_.fd.valid()) lock_.file.unlink().IgnoreError();
}

}  // namespace lapwing
