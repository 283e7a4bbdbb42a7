// Starts a thread of the library's own in a program that is somebody else's: the program's signal
// handlers run on the program's own threads.
//
// Thread safety: free function.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {

// `name` is a literal of at most 15 characters, for ps and debuggers. Errors: kLimit, where the
// user's limit on processes (ulimit -u) or the container's is reached.
template <typename Body>
absl::Status start_helper_thread(std::thread& thread, const char* name, Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  absl::Status started;
  try {
    thread = std::thread([name, run = std::move(body)]() mutable {
      pthread_setname_np(pthread_self(), name);
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
  return started;
}

}  // namespace lapwing
