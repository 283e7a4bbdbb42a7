#include "cli/process_limits.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <new>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/exit_codes.h"
#include "lapwing/error.h"
#include "proto/slot_stamp.h"

namespace lapwing::cli {
namespace {

constexpr rlim_t kStackBytesMin = 256 << 10;
constexpr rlim_t kStackBytesWanted = 8 << 20;  // what Linux gives by default
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kEndingNs = 250'000'000;  // of processor time, to end properly

rlimit limit_on(decltype(RLIMIT_STACK) resource) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(resource, &limit);
  return limit;
}

// Threads get the soft limit that the process began with.
void give_threads(std::size_t stack_bytes) {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

// The kernel kills without a signal to be caught where soft and hard limit are the same, which is
// what `ulimit -t` sets.
void signal_before_the_processor_limit() {
  const rlimit limit = limit_on(RLIMIT_CPU);
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_cur < limit.rlim_max) return;
  if (limit.rlim_max == 0) return;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGXCPU;
  timer_t timer{};
  if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) return;
  const std::uint64_t due_ns = limit.rlim_max * kNsPerSecond - kEndingNs;
  itimerspec due{};
  due.it_value.tv_sec = static_cast<time_t>(due_ns / kNsPerSecond);
  due.it_value.tv_nsec = static_cast<long>(due_ns % kNsPerSecond);
  timer_settime(timer, 0, &due, nullptr);
}

// An exception in a thread of a library, or while another one is under way. Nothing is allocated:
// there may be no memory.
[[noreturn]] void say_and_end() {
  constexpr std::string_view kSaid =
      "lapwing: ended by an unexpected error, most likely because memory or threads ran out; raise "
      "the limits (ulimit -v, ulimit -u, or the container's). The next run continues as after a "
      "kill\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kSaid.data(), kSaid.size());
  _exit(kExitOther);
}

// " (ulimit -v: 65536 KiB)", or nothing where there is no such limit.
std::string limit_text(decltype(RLIMIT_AS) resource, const char* option) {
  const rlimit limit = limit_on(resource);
  if (limit.rlim_cur == RLIM_INFINITY) return "";
  return absl::StrCat("; ulimit ", option, " allows ", limit.rlim_cur / 1024, " KiB");
}

}  // namespace

absl::Status make_room_on_the_stack() {
  rlimit limit = limit_on(RLIMIT_STACK);
  if (limit.rlim_cur >= kStackBytesWanted) return absl::OkStatus();
  const rlim_t given = limit.rlim_cur;
  limit.rlim_cur = std::min(limit.rlim_max, kStackBytesWanted);
  if (setrlimit(RLIMIT_STACK, &limit) != 0) limit.rlim_cur = given;
  if (limit.rlim_cur < kStackBytesMin) {
    return make_error(Errc::kLimit,
                      absl::StrCat("a stack of ", limit.rlim_cur / 1024, " KiB (ulimit -s) is too ",
                                   "small; allow ", kStackBytesMin / 1024, " KiB or more"));
  }
  give_threads(limit.rlim_cur);
  return absl::OkStatus();
}

void announce_ends() {
  std::set_terminate(say_and_end);
  signal_before_the_processor_limit();
}

std::string words_for(const std::exception& error, const std::string& command) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return absl::StrCat("no memory is left for `lapwing ", command, "`",
                        limit_text(RLIMIT_AS, "-v"), limit_text(RLIMIT_DATA, "-d"),
                        ": raise that limit, or free memory of the machine or container");
  }
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  const int sys_errno = system == nullptr ? 0 : system->code().value();
  if (sys_errno == EAGAIN || sys_errno == ENOMEM) {
    return absl::StrCat("`lapwing ", command, "` cannot start a thread: ", error.what(),
                        limit_text(RLIMIT_AS, "-v"),
                        ": raise the limit on processes (ulimit -u), on address space (ulimit -v), "
                        "or the container's");
  }
  return absl::StrCat("`lapwing ", command, "` ended with an unexpected error: ", error.what(),
                      "; durable records are safe, and the next run continues as after a kill");
}

}  // namespace lapwing::cli
