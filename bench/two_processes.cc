#include "bench/two_processes.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lapwing/detail/atomic_word.h"
#include "os/kernel.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kPausesBetweenClocks = 1 << 16;

[[noreturn]] void run_child(pid_t parent, int core, const std::function<void()>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(1);  // the parent died before prctl
  pin_to_core(core);
  body();
  std::_Exit(0);  // must not flush the parent's buffers
}

int reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) fail(absl::StrCat("waiting for process ", pid));
  }
  return status;
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes), data_(nullptr) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) fail(absl::StrCat("cannot map ", bytes, " bytes of shared memory"));
  data_ = static_cast<std::byte*>(memory);
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
}

Child::Child(int core, const std::function<void()>& body) {
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) fail(absl::StrCat("fork: ", std::strerror(errno)));
  if (pid_ == 0) run_child(parent, core, body);
}

Child::~Child() {
  if (pid_ > 0) kill();
}

void Child::join() {
  const int status = reap(pid_);
  if (status != 0) fail(absl::StrCat("process ", pid_, " of the benchmark ended with ", status));
  pid_ = -1;
}

void Child::kill() {
  ::kill(pid_, SIGKILL);
  reap(pid_);
  pid_ = -1;
}

void Patience::pause() {
  spin_pause();
  if (++pauses_ % kPausesBetweenClocks != 0) return;
  const std::uint64_t now = monotonic_ns();
  if (deadline_ns_ == 0) deadline_ns_ = now + kSilenceNsMax;
  if (now > deadline_ns_) fail("the other process has not responded for minutes");
  // Milliseconds have passed, so this spin is not part of a measurement. The other side may need
  // this core.
  sched_yield();
}

}  // namespace lapwing::bench
