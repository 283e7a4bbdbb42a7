// For tests: a small private tmpfs, and code that runs as another user. Both need root. Without
// root, a test uses LAPWING_SKIP, which prints the reason.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <string>

#include "testing/skip.h"

namespace lapwing {

inline constexpr uid_t kTestUser = 61231;  // not a user of the system
inline constexpr uid_t kOtherTestUser = 61232;
inline constexpr gid_t kTestGroup = 61233;

// Runs `body` in a child process as `user` with `group` as its only group. Returns 0 if the body
// returned 0. Otherwise returns its result (for example a line number), or -1 if it did not return.
inline int run_as(uid_t user, gid_t group, const std::function<int()>& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (setgroups(0, nullptr) != 0 || setgid(group) != 0 || setuid(user) != 0) _exit(255);
    const int result = body();
    _exit(result == 0 ? 0 : 1 + result % 250);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (!WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// Excludes other test processes on this machine from kTestUser's shared names, such as its
// directory in /dev/shm, during its lifetime.
class TestUserLock {
 public:
  TestUserLock()
      : fd_(open("/dev/shm/lapwing-test-user.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    REQUIRE(fd_ >= 0);
    REQUIRE(flock(fd_, LOCK_EX) == 0);
  }
  ~TestUserLock() { close(fd_); }
  TestUserLock(const TestUserLock&) = delete;
  TestUserLock& operator=(const TestUserLock&) = delete;

 private:
  int fd_;
};

// A tmpfs mounted during the object's lifetime.
class TestMount {
 public:
  explicit TestMount(const std::string& options) {
    char path[] = "/tmp/lapwing-mount-XXXXXX";
    REQUIRE(mkdtemp(path) != nullptr);
    path_ = path;
    mounted_ = mount("lapwing-test", path, "tmpfs", 0, options.c_str()) == 0;
  }
  ~TestMount() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
    rmdir(path_.c_str());
  }
  TestMount(const TestMount&) = delete;
  TestMount& operator=(const TestMount&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool mounted_ = false;
};

}  // namespace lapwing
