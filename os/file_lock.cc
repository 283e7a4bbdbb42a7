#include "os/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lapwing/error.h"
#include "os/lock_holder.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr int kAttemptsMin = 100;  // regardless of the time
constexpr std::size_t kPidTextMax = 32;
constexpr std::chrono::milliseconds kHolderLookInterval{50};

absl::Status not_a_lock(const std::string& path) {
  return make_error(Errc::kNotALapwingFile,
                    absl::StrCat(path, " is not a lock file of Lapwing; move it away"));
}

absl::StatusOr<UniqueFd> open_lock(const std::string& path, bool own_file_only) {
  UniqueFd fd;
  do {
    // O_NONBLOCK, so that the open does not wait if the path is a FIFO.
    fd = UniqueFd::opened_by([&] {
      return ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    });
  } while (!fd.valid() && errno == EINTR);
  struct stat found{};
  if (!fd.valid() || ::fstat(fd.get(), &found) != 0) {
    if (errno == ELOOP || errno == EISDIR || errno == ENXIO) return not_a_lock(path);
    return make_system_error(errno, absl::StrCat("cannot open the lock ", path));
  }
  if (!S_ISREG(found.st_mode)) return not_a_lock(path);
  const bool others_may_lock = (found.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  if (others_may_lock && ::fchmod(fd.get(), 0600) != 0 && errno != EPERM) {
    return make_system_error(errno, absl::StrCat("cannot close the lock ", path, " to others"));
  }
  if (!own_file_only || found.st_uid == ::geteuid()) return fd;
  return make_error(Errc::kNotPermitted, absl::StrCat(path, " belongs to user ", found.st_uid,
                                                      "; let that user remove it"));
}

// Returns whether the flock is held by a process that may only read the file. Such a process opened
// the file while its mode was too permissive. It cannot write its id into the file. So if it has
// ended and left its descriptor to another process, it is not mistaken for a killed publisher.
bool is_held_by_reader(int fd) {
  struct stat found{};
  const std::optional<LockHolder> holder = flock_holder(fd);
  if (!holder || ::fstat(fd, &found) != 0) return false;
  if (has_ended(holder->pid)) return holder->pid != pid_in(fd);
  return holder->user != 0 && holder->user != found.st_uid && holder->user != ::geteuid();
}

struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

pid_t pid_in(int fd) {
  char text[kPidTextMax];
  const ssize_t bytes = ::pread(fd, text, sizeof text, 0);
  pid_t pid = 0;
  const bool is_number =
      bytes > 0 && absl::SimpleAtoi(absl::string_view(text, static_cast<std::size_t>(bytes)), &pid);
  return is_number ? pid : 0;
}

absl::StatusOr<LockFile> take_lock_file(const std::string& path, const LockFileOptions& options) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto deadline = retry_deadline(options.retry_ns);
  for (int attempt = 0; attempt < kAttemptsMin || now() < deadline; ++attempt) {
    absl::StatusOr<UniqueFd> fd = open_lock(path, options.own_file_only);
    if (!fd.ok()) return fd.status();
    absl::StatusOr<NamedFile> file = NamedFile::of(fd->get(), path);
    if (!file.ok()) return file.status();
    const auto lock = [&] { return ::flock(fd->get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno; };
    int failure = retry_lock(0, lock);
    bool is_readers = false;  // checked on each iteration: another waiter may get the lock
    while (failure == EWOULDBLOCK) {
      is_readers = is_held_by_reader(fd->get());
      const auto left = deadline - now();
      if (is_readers || left <= std::chrono::nanoseconds(0)) break;
      const auto some = std::min<std::chrono::nanoseconds>(left, kHolderLookInterval);
      failure = retry_lock(static_cast<std::uint64_t>(some.count()), lock, options.interval_ms);
    }
    if (failure == EWOULDBLOCK && is_readers && file->unlink().ok()) continue;
    if (failure == EWOULDBLOCK) return LockFile{*std::move(fd), *std::move(file), false};
    if (failure != 0) return make_system_error(failure, absl::StrCat("cannot lock ", path));
    const absl::StatusOr<bool> named = file->is_named();
    if (!named.ok()) return named.status();
    if (*named) return LockFile{*std::move(fd), *std::move(file), true};
    // The file was removed in the meantime, so the lock excludes no other process.
  }
  return make_error(Errc::kInUse, absl::StrCat("another process removes ", path, " repeatedly"));
}

int lock_whole_file(int fd) {
  struct flock whole = whole_file(F_WRLCK);
  if (::fcntl(fd, F_OFD_SETLK, &whole) == 0) return 0;
  return errno == EACCES ? EWOULDBLOCK : errno;
}

int lock_against_writers(int fd) {
  const int failure = lock_whole_file(fd);
  if (failure != EWOULDBLOCK) return failure;
  const absl::StatusOr<bool> held = is_whole_file_locked(fd, "");
  if (!held.ok()) return errno_of(held.status());
  if (*held) return EWOULDBLOCK;
  // The cause is read locks, or a writer that has just ended. A second failure is attributed to
  // read locks.
  const int again = lock_whole_file(fd);
  return again == EWOULDBLOCK && !is_whole_file_locked(fd, "").value_or(true) ? 0 : again;
}

void unlock_whole_file(int fd) {
  struct flock whole = whole_file(F_UNLCK);
  ::fcntl(fd, F_OFD_SETLK, &whole);
}

absl::StatusOr<bool> is_whole_file_locked(int fd, const std::string& path) {
  struct flock whole = whole_file(F_RDLCK);  // only a write lock conflicts with it
  if (::fcntl(fd, F_OFD_GETLK, &whole) == 0) return whole.l_type != F_UNLCK;
  return make_system_error(errno, absl::StrCat("finding the holder of ", path));
}

}  // namespace lapwing
