#include "cli/process_start.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string_view>

#include "cli/exit_codes.h"

namespace lapwing::cli {
namespace {

bool is_closed(int fd) {
  return fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

// Allocates nothing, because memory may be exhausted.
[[noreturn]] void print_and_exit() {
  constexpr std::string_view kMessage =
      "lapwing: unexpected error: memory or threads have probably run out. Raise the limits "
      "(ulimit -v, ulimit -u, or the container's). The next run continues as after a kill\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(kExitOther);
}

}  // namespace

// open() returns the lowest free number, so each stream gets its own, starting with standard input.
void reserve_standard_streams() {
  constexpr char kNothing[] = "/dev/null";
  if (is_closed(STDIN_FILENO)) ::open(kNothing, O_WRONLY);
  if (is_closed(STDOUT_FILENO)) ::open(kNothing, O_RDONLY);
  if (is_closed(STDERR_FILENO)) ::open(kNothing, O_WRONLY);
}

void report_unexpected_end() {
  std::set_terminate(print_and_exit);
}

}  // namespace lapwing::cli
