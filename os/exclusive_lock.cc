#include "os/exclusive_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr std::size_t kPidTextMax = 32;
constexpr int kAttemptsMax = 100;

absl::Status open_failed(int sys_errno, const std::string& path) {
  if (sys_errno == ELOOP || sys_errno == EISDIR || sys_errno == ENXIO) {
    return make_error(Errc::kNotALapwingFile,
                      absl::StrCat(path, " is not a lock file of ours; move it away"));
  }
  return make_system_error(sys_errno, absl::StrCat("cannot open the lock ", path));
}

int open_lock(const std::string& path) {
  for (;;) {
    const int fd =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

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
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const int fd = open_lock(path);
    if (fd < 0) return open_failed(errno, path);
    ExclusiveLock lock(fd, path);
    struct stat info{};
    if (::fstat(fd, &info) != 0) return open_failed(errno, path);
    if (!S_ISREG(info.st_mode)) return open_failed(ENXIO, path);
    const int failure =
        retry_lock(retry_ns, [&] { return ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno; });
    if (failure == EWOULDBLOCK) {
      return make_error(Errc::kBusTaken,
                        absl::StrCat(path, " is held by ", holder_of(fd), ", which ", does));
    }
    if (failure != 0) return make_system_error(failure, absl::StrCat("cannot lock ", path));
    const absl::StatusOr<bool> named = lock.is_named();
    if (!named.ok()) return named.status();
    if (!*named) continue;  // removed meanwhile: it keeps nobody out
    write_holder(fd);
    return lock;
  }
  return make_error(Errc::kBusTaken,
                    absl::StrCat("another process removes ", path, " again and again"));
}

absl::StatusOr<bool> ExclusiveLock::is_named() const {
  struct stat held{};
  struct stat named{};
  if (::fstat(fd_, &held) != 0 || (::lstat(path_.c_str(), &named) != 0 && errno != ENOENT)) {
    return make_system_error(errno, absl::StrCat("cannot look at the lock ", path_));
  }
  return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

ExclusiveLock::ExclusiveLock(ExclusiveLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

ExclusiveLock& ExclusiveLock::operator=(ExclusiveLock&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
  }
  return *this;
}

ExclusiveLock::~ExclusiveLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace lapwing
