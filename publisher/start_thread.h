// Starts one of the publisher's threads.
//
// Thread safety: free function.
#pragma once

#include <pthread.h>
#include <sys/prctl.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing {

// The default of 50 µs would stretch every look at head, and double the doorbell's interval.
inline constexpr unsigned long kTimerSlackNs = 1000;

// `name` is a literal of at most 15 characters, for ps and debuggers. Errors: kSystem, where the
// user's limit on processes (ulimit -u) or the container's is reached.
template <typename Body>
absl::Status start_thread(std::thread& thread, const char* name, Body body) {
  try {
    thread = std::thread([name, run = std::move(body)] {
      pthread_setname_np(pthread_self(), name);
      prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
      run();
    });
  } catch (const std::system_error& error) {
    const absl::Status why =
        make_system_error(error.code().value(), absl::StrCat("starting the thread ", name));
    return make_error(Errc::kSystem,
                      absl::StrCat(std::string(why.message()),
                                   "; raise the limit on processes (ulimit -u, or the "
                                   "container's) or on address space (ulimit -v)"));
  }
  return absl::OkStatus();
}

}  // namespace lapwing
