#include "os/process_state.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "testing/child_process.h"

namespace lapwing {
namespace {

ChildProcess waiting_child() {
  return ChildProcess([] {
    for (;;) pause();
    return EXIT_SUCCESS;
  });
}

std::uint32_t pid_of(const ChildProcess& child) {
  return static_cast<std::uint32_t>(child.pid());
}

void make_zombie(const ChildProcess& child) {
  child.send(SIGKILL);
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT) == 0);
}

TEST_CASE("A process runs, is stopped, or has ended", "[process_state]") {
  const ChildProcess child = waiting_child();
  const ProcessIdentity process = identity_of(pid_of(child));
  CHECK(process.start_ticks != 0);
  CHECK(process.namespaces == own_namespaces());
  CHECK(state_of(process) == ProcessState::kRunning);
  child.stop();
  CHECK(state_of(process) == ProcessState::kStopped);
  CHECK(is_stopped(pid_of(child)));
  make_zombie(child);
  CHECK(state_of(process) == ProcessState::kEnded);
  CHECK(has_ended(pid_of(child)));
}

TEST_CASE("A pid that belongs to another process now has ended", "[process_state]") {
  const ChildProcess child = waiting_child();
  ProcessIdentity process = identity_of(pid_of(child));
  ++process.start_ticks;
  CHECK(state_of(process) == ProcessState::kEnded);
}

TEST_CASE("A pid of another namespace is not looked up here", "[process_state]") {
  const ChildProcess child = waiting_child();
  ProcessIdentity process = identity_of(pid_of(child));
  ++process.namespaces.pid;
  CHECK(state_of(process) == ProcessState::kUnknown);
}

TEST_CASE("Start ticks noted in another time namespace are not compared", "[process_state]") {
  const ChildProcess child = waiting_child();
  ProcessIdentity process = identity_of(pid_of(child));
  ++process.namespaces.time;
  ++process.start_ticks;
  CHECK(state_of(process) == ProcessState::kRunning);
}

TEST_CASE("The namespaces of an older peer are not known and count as ours", "[process_state]") {
  const ChildProcess child = waiting_child();
  CHECK(state_of({.pid = pid_of(child), .start_ticks = 0, .namespaces = {}}) ==
        ProcessState::kRunning);
}

}  // namespace
}  // namespace lapwing
