#include "os/listen_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/path.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kRetryNs = 1'000'000;

absl::Status not_a_lock(const std::string& lock_path) {
  return make_error(Errc::kNotALapwingFile,
                    absl::StrCat(lock_path, " is not a lock file of ours; move it away"));
}

absl::StatusOr<UniqueFd> open_lock(const std::string& lock_path, const SocketKind& kind) {
  // O_NONBLOCK: a fifo does not hold us up.
  UniqueFd fd(open(lock_path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                   S_IRUSR | S_IWUSR));
  if (fd.valid()) return fd;
  if (errno == ELOOP || errno == EISDIR || errno == ENXIO) return not_a_lock(lock_path);
  if (errno == ENAMETOOLONG) {
    return make_error(Errc::kPathTooLong, absl::StrCat("no file can be named ", lock_path,
                                                       "; use a shorter ", kind.place));
  }
  if (errno == ENOENT) {
    return make_error(Errc::kNotFound,
                      absl::StrCat("there is no directory ", directory_of(lock_path),
                                   "; make it, or use another ", kind.place));
  }
  return make_system_error(errno, absl::StrCat("opening the lock ", lock_path));
}

absl::Status check_lock(const struct stat& found, const std::string& lock_path) {
  if (!S_ISREG(found.st_mode)) return not_a_lock(lock_path);
  if (found.st_uid == geteuid()) return absl::OkStatus();
  return make_error(Errc::kNotPermitted, absl::StrCat(lock_path, " belongs to user ", found.st_uid,
                                                      "; let that user remove it"));
}

}  // namespace

absl::StatusOr<ListenLock> ListenLock::take(const std::string& path, const SocketKind& kind) {
  const std::string lock_path = absl::StrCat(path, ".lock");
  const std::uint64_t deadline_ns = monotonic_ns() + kListenLockWaitNs;
  do {
    absl::StatusOr<UniqueFd> fd = open_lock(lock_path, kind);
    if (!fd.ok()) return fd.status();
    struct stat found{};
    if (fstat(fd->get(), &found) != 0) {
      return make_system_error(errno, absl::StrCat("looking at the lock ", lock_path));
    }
    if (absl::Status status = check_lock(found, lock_path); !status.ok()) return status;
    if (flock(fd->get(), LOCK_EX | LOCK_NB) == 0) {
      absl::StatusOr<NamedFile> file = NamedFile::of(fd->get(), lock_path);
      if (!file.ok()) return file.status();
      // Its last holder may have removed it.
      if (file->still_named()) return ListenLock(*std::move(fd), *std::move(file));
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return make_system_error(errno, absl::StrCat("taking the lock ", lock_path));
    }
    wait_readable(-1, kRetryNs);
  } while (monotonic_ns() < deadline_ns);
  return make_error(Errc::kBusTaken,
                    absl::StrCat("another process is making the ", kind.name, " ", path,
                                 " and holds ", lock_path, "; try again when it is done"));
}

ListenLock::ListenLock(UniqueFd fd, NamedFile file) : fd_(std::move(fd)), file_(std::move(file)) {}

ListenLock::~ListenLock() {
  // The name goes while the lock is held: whoever waits for it finds that out and makes another.
  if (fd_.valid()) file_.unlink().IgnoreError();
}

}  // namespace lapwing
