// Tests finding the holder of a lock, and the locks of a process that may only read.
#include "os/lock_holder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "lapwing/error.h"
#include "os/exclusive_lock.h"
#include "os/posix_io.h"
#include "testing/other_user.h"
#include "testing/temporary_directory.h"
#include "testing/waiting_child.h"

namespace lapwing {
namespace {

bool become(uid_t user) {
  return ::setgroups(0, nullptr) == 0 && ::setgid(kTestGroup) == 0 && ::setuid(user) == 0;
}

bool lock_range(int fd, short type) {
  struct flock whole{};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

// A file in a directory that others may enter, as in a bus with a group.
class SharedFile {
 public:
  explicit SharedFile(mode_t mode) : path_(directory_.file("f")) {
    REQUIRE(::chmod(directory_.path().c_str(), 0755) == 0);
    const UniqueFd made(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(made.valid());
    REQUIRE(::chmod(path_.c_str(), mode) == 0);
  }
  const std::string& path() const { return path_; }
  int open(int flags) const { return ::open(path_.c_str(), flags | O_CLOEXEC); }

 private:
  TemporaryDirectory directory_{"/tmp"};
  std::string path_;
};

}  // namespace

TEST_CASE("The holder of either lock is found, with command and user") {
  const SharedFile file(0600);
  const bool is_flock = GENERATE(true, false);
  const WaitingChild holder([&] {
    const int fd = file.open(O_RDWR);
    return is_flock ? ::flock(fd, LOCK_EX) == 0 : lock_range(fd, F_WRLCK);
  });
  const UniqueFd fd(file.open(O_RDWR));
  const auto found = is_flock ? flock_holder(fd.get()) : write_lock_holder(fd.get());
  REQUIRE(found.has_value());
  CHECK(found->pid == holder.pid());
  CHECK(found->user == ::geteuid());
  CHECK(text_of(*found).starts_with("process " + std::to_string(holder.pid()) + " ("));
  const auto other = is_flock ? write_lock_holder(fd.get()) : flock_holder(fd.get());
  CHECK_FALSE(other.has_value());
}

TEST_CASE("A process has ended once it is killed, also before its parent has seen that") {
  CHECK_FALSE(has_ended(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(child > 0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(has_ended(child));
  ::waitpid(child, nullptr, 0);
  CHECK(has_ended(child));
}

TEST_CASE("Of a holder that has ended a refusal says so, and does not name it as running") {
  const SharedFile file(0600);
  const int fd = file.open(O_RDWR);  // a UniqueFd would be closed in the child
  // The kernel holds the lock for a process that has ended, as io_uring does after a kill.
  const pid_t locker = ::fork();
  if (locker == 0) ::_exit(::flock(fd, LOCK_EX) == 0 ? 0 : 1);
  int status = 1;
  ::waitpid(locker, &status, 0);
  REQUIRE(status == 0);
  const std::string text = std::to_string(locker) + "\n";
  REQUIRE(::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  const auto refused = ExclusiveLock::take(file.path(), 0);
  REQUIRE(errc_of(refused.status()) == Errc::kInUse);
  const std::string message(refused.status().message());
  CHECK(message.find("the last publisher (pid " + std::to_string(locker) + ") has ended") !=
        std::string::npos);
  CHECK(message.find("is held by") == std::string::npos);
  ::close(fd);
}

TEST_CASE("A reader's read lock keeps no writer out, and once it is gone the file is locked") {
  if (::geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const SharedFile file(0644);
  PosixDisk disk;
  const auto opened = open_file(disk, file.path(), {OpenMode::kReadWrite});
  REQUIRE(opened.ok());
  {
    const WaitingChild reader(
        [&] { return become(kTestUser) && lock_range(file.open(O_RDONLY), F_RDLCK); });
    REQUIRE(disk.lock(opened->get(), 0).ok());
  }
  REQUIRE(disk.lock(opened->get(), 0).ok());
  const auto second = open_file(disk, file.path(), {OpenMode::kReadWrite});
  REQUIRE(second.ok());
  const absl::Status refused = disk.lock(second->get(), 0);
  CHECK(errc_of(refused) == Errc::kInUse);
  CHECK(refused.message().find("process " + std::to_string(::getpid())) != std::string::npos);
}

TEST_CASE(
    "A lock file that others could open is closed to them, and a reader's lock does not count") {
  if (::geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const SharedFile file(0644);
  const WaitingChild reader(
      [&] { return become(kTestUser) && ::flock(file.open(O_RDONLY), LOCK_EX) == 0; });
  const auto taken = ExclusiveLock::take(file.path(), 0);
  REQUIRE(taken.ok());
  struct stat info{};
  REQUIRE(::stat(file.path().c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  CHECK(errc_of(ExclusiveLock::take(file.path(), 0).status()) == Errc::kInUse);
}

TEST_CASE("A reader that passes its lock on to another process and ends does not count either") {
  if (::geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const SharedFile file(0644);
  const WaitingChild keeper([&] {
    if (!become(kTestUser)) return false;
    const int fd = file.open(O_RDONLY);
    const pid_t locker = ::fork();
    if (locker == 0) ::_exit(::flock(fd, LOCK_EX) == 0 ? 0 : 1);
    int status = 1;
    return ::waitpid(locker, &status, 0) == locker && status == 0;
  });
  CHECK(ExclusiveLock::take(file.path(), 0).ok());
}

TEST_CASE("The lock of a running owner stays, whatever mode somebody gave its file") {
  const SharedFile file(0600);
  const WaitingChild owner([&] {
    static const auto lock = ExclusiveLock::take(file.path(), 0);
    return lock.ok();
  });
  REQUIRE(::chmod(file.path().c_str(), 0644) == 0);
  const auto refused = ExclusiveLock::take(file.path(), 0);
  CHECK(errc_of(refused.status()) == Errc::kInUse);
  CHECK(refused.status().message().find("process " + std::to_string(owner.pid())) !=
        absl::string_view::npos);
}

}  // namespace lapwing
