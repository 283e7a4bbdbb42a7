// The threads of this process in the kernel's list. It includes the workers of an io_uring, which
// are not std::threads. Test code only; not thread-safe.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "os/thread_placement.h"

namespace lapwing {

struct ProcessThread {
  pid_t id = 0;
  std::string name;

  // Empty if the thread has ended. Asserts nothing, so any thread may call it.
  std::vector<unsigned> cpus() const {
    CpuMask mask;
    sched_getaffinity(id, CpuMask::size_bytes(), mask.get());
    return mask.cpus();
  }
  std::uint64_t processor_ns() const {  // processor time used
    std::ifstream statistics(absl::StrCat("/proc/self/task/", id, "/schedstat"));
    std::uint64_t used = 0;
    REQUIRE(statistics >> used);
    return used;
  }
  int nice() const { return getpriority(PRIO_PROCESS, static_cast<id_t>(id)); }
  int policy() const { return sched_getscheduler(id); }
  int priority() const {
    sched_param parameters{};
    sched_getparam(id, &parameters);
    return parameters.sched_priority;
  }
};

inline constexpr int kThreadHangMs = 60'000;  // only ends a hang

inline std::vector<ProcessThread> threads_named(const std::string& wanted) {
  std::vector<ProcessThread> threads;
  std::error_code ended;  // a thread ended while the list was read
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ended)) {
    std::string name;
    std::ifstream comm(task.path() / "comm");
    std::getline(comm, name);
    if (name == wanted) threads.push_back({std::stoi(task.path().filename()), name});
  }
  return threads;
}

// The only thread with that name. A joined thread stays in the kernel's list for a moment.
inline ProcessThread thread_named(const std::string& name) {
  for (int waited_ms = 0; waited_ms < kThreadHangMs; ++waited_ms) {
    const std::vector<ProcessThread> found = threads_named(name);
    if (found.size() == 1) return found[0];
    ::poll(nullptr, 0, 1);
  }
  FAIL("there is not one thread " << name);
  return {};
}

// Waits for a detached thread, which ends a moment after its work.
inline void wait_until_none_is_named(const std::string& name) {
  for (int waited_ms = 0; waited_ms < kThreadHangMs; ++waited_ms) {
    if (threads_named(name).empty()) return;
    ::poll(nullptr, 0, 1);
  }
  FAIL("a thread " << name << " does not end");
}

inline ProcessThread this_thread() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return {gettid(), name};
}

// The kernel's worker threads for requests from that thread.
inline std::vector<ProcessThread> uring_workers_of(pid_t thread) {
  return threads_named("iou-wrk-" + std::to_string(thread));
}

}  // namespace lapwing
