// Child processes of a test, and memory shared with them.
//
// A child ends with the test that started it, and waits for a child are bounded. A child must not
// use the test framework: it returns an exit code, and reports errors in a Complaint.
//
// Thread safety: one thread starts a child and waits for it. It must live as long as the child.
#pragma once

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "testing/environment.h"

namespace lapwing {

inline constexpr int kChildHangMs = 120'000;  // only ends a hang

// Pins this process to the index-th processor that it may use, so that two processes run at the
// same time. Does nothing if there are not enough processors.
inline void run_on_processor(std::size_t index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::size_t seen = 0;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || seen++ != index) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
}

// A T shared by a test and the children that it starts later. Zeroed, then initialised with T's
// defaults.
template <typename T>
class Shared {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  Shared() {
    void* const map =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(map != MAP_FAILED);
    value_ = new (map) T{};
  }
  ~Shared() { munmap(static_cast<void*>(value_), sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_;
};

// An error message of a child in shared memory, for the test to print.
struct Complaint {
  char text[512];

  // Stores the message and returns the exit code for failure.
  int say(std::string_view what) {
    what = what.substr(0, sizeof text - 1);
    std::memcpy(text, what.data(), what.size());
    text[what.size()] = '\0';
    return 1;
  }
};

class ChildProcess {
 public:
  ChildProcess() = default;
  // Runs `body` in a child and uses its result as the exit code.
  template <typename Body>
  explicit ChildProcess(const Body& body) {
    const pid_t parent = getpid();
    std::fflush(nullptr);  // so that the child does not print it again
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(EXIT_FAILURE);  // the parent ended before prctl
    run(body);
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    end();
    pid_ = std::exchange(other.pid_, -1);
    return *this;
  }
  ~ChildProcess() { end(); }

  pid_t pid() const { return pid_; }
  void send(int signal) const { kill(pid_, signal); }
  // Stops the child. It is stopped on return.
  void stop() const {
    kill(pid_, SIGSTOP);
    int status = 0;
    REQUIRE(waitpid(pid_, &status, WUNTRACED) == pid_);
    REQUIRE(WIFSTOPPED(status));
  }
  // The child has been waited for elsewhere.
  void forget() { pid_ = -1; }

  // Waits for the child to end. Returns its exit code, or minus the signal that ended it.
  int wait(int hang_ms = kChildHangMs) {
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    REQUIRE(fd >= 0);
    pollfd entry{fd, POLLIN, 0};
    const int ready = poll(&entry, 1, hang_ms);
    close(fd);
    INFO("child " << pid_ << " hangs");
    REQUIRE(ready == 1);
    int status = 0;
    REQUIRE(waitpid(std::exchange(pid_, -1), &status, 0) > 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  // An exception, including the framework's, ends the child. Otherwise it would continue as a
  // second test.
  template <typename Body>
  [[noreturn]] static void run(const Body& body) noexcept {
    _exit(body());
  }

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  pid_t pid_ = -1;
};

}  // namespace lapwing
