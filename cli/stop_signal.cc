#include "cli/stop_signal.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "bus/kernel.h"
#include "proto/shared_words.h"

namespace lapwing::cli {
namespace {

StickyFlag stop_flag;  // lock-free, so a signal handler may set it
int stop_event = -1;

void on_stop(int number) {
  if (stop_flag.is_set()) std::signal(number, SIG_DFL);
  stop_flag.set();
  if (stop_event >= 0) signal_eventfd(stop_event);
}

}  // namespace

void catch_stop_signals() {
  if (absl::StatusOr<UniqueFd> event = make_eventfd(); event.ok()) stop_event = event->release();
  struct sigaction action{};
  action.sa_handler = on_stop;  // without SA_RESTART: blocking reads of standard input end too
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool stop_requested() {
  return stop_flag.is_set();
}

int stop_fd() {
  return stop_event;
}

void sleep_unless_stopped(std::uint64_t timeout_ns) {
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  pollfd event{stop_event, POLLIN, 0};
  const std::uint64_t timeout_ms = std::min<std::uint64_t>(timeout_ns / kNsPerMs + 1, 1'000'000);
  poll(&event, 1, static_cast<int>(timeout_ms));
}

}  // namespace lapwing::cli
