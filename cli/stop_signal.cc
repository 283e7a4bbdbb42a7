#include "cli/stop_signal.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "cli/exit_codes.h"
#include "os/kernel.h"
#include "os/thread_words.h"

namespace lapwing::cli {
namespace {

// Lock-free, so signal handlers may set them.
StickyFlag stop_flag;
StickyFlag processor_time_flag;
StickyFlag catching_flag;
InterruptFlag reload_flag;
int stop_event = -1;

void request_stop() {
  stop_flag.set();
  if (stop_event >= 0) signal_eventfd(stop_event);
}

// When a terminal closes, both the kernel and the shell may send SIGHUP.
void on_stop(int number) {
  if (stop_flag.is_set() && number != SIGHUP) std::signal(number, SIG_DFL);
  request_stop();
}

// The kernel sends this signal again every second.
void on_processor_limit(int) {
  if (processor_time_flag.is_set()) return;
  processor_time_flag.set();
  constexpr std::string_view kSaid =
      "lapwing: the limit on processor time (ulimit -t) is reached; the work ends early; raise the "
      "limit\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kSaid.data(), kSaid.size());
  if (!catching_flag.is_set()) _exit(kExitOther);
  request_stop();
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;  // without SA_RESTART, so that blocking reads of standard input end
  sigaction(number, &action, nullptr);
}

bool is_ignored(int number) {
  struct sigaction action{};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void prepare_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  handle(SIGXCPU, on_processor_limit);
}

void catch_stop_signals() {
  if (absl::StatusOr<UniqueFd> event = make_eventfd(); event.ok()) stop_event = event->release();
  catching_flag.set();
  handle(SIGINT, on_stop);
  handle(SIGTERM, on_stop);
  if (!is_ignored(SIGHUP)) handle(SIGHUP, on_stop);
}

void catch_reload_signal() {
  handle(SIGHUP, [](int) { reload_flag.raise(); });
}

bool take_reload_request() {
  return reload_flag.take();
}

bool stop_requested() {
  return stop_flag.is_set();
}

bool out_of_processor_time() {
  return processor_time_flag.is_set();
}

int stop_fd() {
  return stop_event;
}

void sleep_unless_stopped(std::uint64_t timeout_ns) {
  pollfd event{stop_event, POLLIN, 0};
  const std::uint64_t timeout_ms = std::min<std::uint64_t>(timeout_ns / kNsPerMs + 1, 1'000'000);
  poll(&event, 1, static_cast<int>(timeout_ms));
}

}  // namespace lapwing::cli
