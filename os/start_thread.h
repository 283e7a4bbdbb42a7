// Starts a library thread in the user's program. The program's signal handlers run only on
// the program's threads, and the thread runs on the processors that the program chose.
//
// Thread safety: free function.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/thread_placement.h"

namespace lapwing {

// For a thread that polls many times a second. The default of 50 µs would prolong the time between
// two polls of head, and double the doorbell's interval.
inline constexpr unsigned long kPromptTimerSlackNs = 1000;

// Returns all signals except those raised by a fault in the thread itself. So a program that
// reports its crashes also reports those of this thread.
inline sigset_t signals_of_others() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    sigdelset(&signals, fault);
  }
  return signals;
}

struct ThreadOptions {
  unsigned long timer_slack_ns = 0;  // 0: inherited
  ThreadPlacement placement = {};
};

// `name` is a literal of at most 15 characters, for ps and debuggers; docs/how-to/tune-a-machine.md
// lists it. With a placement, waits until the thread is placed. Errors: kLimit if the user's limit
// on processes (ulimit -u) or the container's is reached; those of place_this_thread. After an
// error, `body` does not run.
template <typename Body>
absl::Status start_thread(std::thread& thread, const char* name, Body body,
                          const ThreadOptions& options = {}) {
  const sigset_t blocked = signals_of_others();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  absl::Status started;
  std::promise<absl::Status> placing;
  std::future<absl::Status> placed;
  if (options.placement != ThreadPlacement{}) placed = placing.get_future();
  try {
    thread =
        std::thread([name, options, placing = std::move(placing), run = std::move(body)]() mutable {
          pthread_setname_np(pthread_self(), name);
          const absl::Status status = place_this_thread(options.placement);
          placing.set_value(status);
          if (!status.ok()) return;
          if (options.timer_slack_ns != 0) prctl(PR_SET_TIMERSLACK, options.timer_slack_ns);
          run();
        });
  } catch (const std::system_error& error) {
    started =
        make_error(Errc::kLimit,
                   absl::StrCat("starting the thread ", name, ": ", error.what(),
                                "; raise the limit on processes (ulimit -u, or the container's) or "
                                "on address space (ulimit -v)"));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started.ok() || !placed.valid()) return started;
  started = placed.get();
  if (!started.ok()) thread.join();
  return started;
}

}  // namespace lapwing
