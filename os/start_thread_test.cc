#include "os/start_thread.h"

#include <signal.h>

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

sigset_t mask_of_this_thread() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

TEST_CASE("A thread of the library leaves signals to the program, but those of its own faults") {
  sigset_t inside;
  sigemptyset(&inside);
  std::thread thread;
  REQUIRE(start_thread(thread, "lapwing-test", [&] { inside = mask_of_this_thread(); }).ok());
  thread.join();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM, SIGPIPE}) {
    INFO("signal " << signal);
    CHECK(sigismember(&inside, signal) == 1);
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    INFO("signal " << signal);
    CHECK(sigismember(&inside, signal) == 0);
  }
}

TEST_CASE("Starting a thread leaves the caller's signals as they are") {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGUSR2);
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &wanted, &before);
  std::thread thread;
  const absl::Status started = start_thread(thread, "lapwing-test", [] {});
  const sigset_t after = mask_of_this_thread();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  REQUIRE(started.ok());
  thread.join();
  CHECK(sigismember(&after, SIGUSR2) == 1);
  CHECK(sigismember(&after, SIGUSR1) == 0);
  CHECK(sigismember(&after, SIGTERM) == 0);
}

}  // namespace
}  // namespace lapwing
