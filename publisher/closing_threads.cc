#include "publisher/closing_threads.h"

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "lapwing/publisher.h"
#include "os/fork.h"
#include "os/start_thread.h"

namespace lapwing {
namespace {

struct Pending {
  // A forked child does not have these threads, so no thread would release the mutex.
  void on_child() noexcept {
    std::construct_at(&mutex);
    std::construct_at(&none);
    threads = 0;
  }

  std::mutex mutex;
  std::condition_variable none;
  int threads = 0;       // under the mutex
  bool exiting = false;  // under the mutex: no further waits for threads
  ForkWatch fork{*this, "close"};
};

// Never destroyed: a thread may outlive the program's statics.
Pending& pending() {
  static Pending* const only = [] {
    std::atexit([] {
      Pending& left = pending();
      std::unique_lock lock(left.mutex);
      left.none.wait_for(lock, kCloseAtExitMax, [&] { return left.threads == 0; });
      left.exiting = true;
    });
    return new Pending;
  }();
  return *only;
}

}  // namespace

int sessions_closing() {
  const std::lock_guard lock(pending().mutex);
  return pending().threads;
}

void run_closing(std::function<void()> work, const ThreadPlacement& placement) {
  Pending& all = pending();
  bool here_and_now = false;
  {
    const std::lock_guard lock(all.mutex);
    ++all.threads;
    here_and_now = all.exiting;
  }
  const auto run = [&all, work = std::move(work)]() mutable {
    work();
    work = nullptr;  // destroys all that it owns before the program may end
    const std::lock_guard lock(all.mutex);
    if (--all.threads == 0) all.none.notify_all();
  };
  std::thread thread;
  // If placement fails, close in a thread without placement.
  const auto start = [&](const ThreadPlacement& where) {
    return start_thread(thread, "lapwing-closing", run, {.placement = where}).ok();
  };
  if (!here_and_now && (start(placement) || start({}))) {
    thread.detach();
  } else {
    auto here = run;
    here();
  }
}

}  // namespace lapwing
