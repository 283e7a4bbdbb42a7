// A child process that is killed after a chosen number of its instructions or system calls.
//
//     SteppedChild child([&](SteppedChild::Marks& marks) { prepare(); marks.begin();
//                                                          operation(); marks.end(); });
//     REQUIRE(child.reaches_begin());
//     const bool over = child.step(SteppedChild::By::kInstruction, 17);
//     child.kill();
//
// Thread safety: the thread that starts a child is its tracer and must do everything else with it.
#pragma once

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "os/kernel.h"
#include "testing/child_process.h"

namespace lapwing {

class SteppedChild {
 public:
  enum class By { kInstruction, kSystemCall };

  // In shared memory: the child marks the start and the end of its operation.
  struct Marks {
    std::atomic<bool> over{false};

    void begin() { syscall(SYS_kill, getpid(), SIGTRAP); }
    void end() {
      over.store(true);
      for (;;) pause();
    }
  };

  template <typename Body>
  explicit SteppedChild(const Body& body)
      : child_([&] {
          ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
          return body(*marks_);
        }) {
    // Tracing has no deadline of its own: an alarm ends a test that hangs, and prints which one.
    signal(SIGALRM, [](int) {
      constexpr char kSays[] = "a child that is traced hangs\n";
      [[maybe_unused]] const ssize_t said = write(STDERR_FILENO, kSays, sizeof kSays - 1);
      _exit(EXIT_FAILURE);
    });
    alarm(kChildHangMs / 1000);
  }
  ~SteppedChild() {
    if (child_.pid() > 0) kill();
  }
  SteppedChild(const SteppedChild&) = delete;
  SteppedChild& operator=(const SteppedChild&) = delete;

  pid_t pid() const { return child_.pid(); }

  // Runs the child to the start of its operation. Returns false if it ended before that.
  bool reaches_begin() {
    if (!waits_stopped()) return false;
    ptrace(PTRACE_SETOPTIONS, pid(), nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
    return true;
  }

  // Runs `count` steps. Returns true if its operation ended before that.
  bool step(By by, std::uint64_t count) {
    const auto request = by == By::kInstruction ? PTRACE_SINGLESTEP : PTRACE_SYSCALL;
    for (; count > 0; --count) {
      ptrace(request, pid(), nullptr, nullptr);
      if (!waits_stopped() || marks_->over.load()) return true;
    }
    return false;
  }

  // Returns the current value of a word in its memory.
  std::uint64_t word_at(std::uint64_t address) const {
    return static_cast<std::uint64_t>(
        ptrace(PTRACE_PEEKDATA, pid(), reinterpret_cast<void*>(address), nullptr));
  }

  // Kills it. Returns the time of its end, CLOCK_MONOTONIC.
  std::uint64_t kill() {
    const std::uint64_t now = monotonic_ns();
    child_.send(SIGKILL);
    child_.wait();
    alarm(0);
    return now;
  }

 private:
  bool waits_stopped() {
    int status = 0;
    while (waitpid(pid(), &status, __WALL) < 0) {
      if (errno != EINTR) return false;
    }
    if (WIFSTOPPED(status)) return true;
    child_.forget();
    return false;
  }

  Shared<Marks> marks_;
  ChildProcess child_;
};

}  // namespace lapwing
