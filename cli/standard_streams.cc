#include "cli/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing::cli {
namespace {

bool lost_output_told = false;

// Returns false if the stream is closed, or open only in the other direction.
bool allows(int fd, int refused_mode) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != refused_mode;
}

absl::Status lost_output(int sys_errno) {
  if (!has_standard_output()) {
    return make_error(
        Errc::kSystem,
        "standard output is closed and the output is lost; redirect it to a file or a pipe");
  }
  if (is_output_unread()) {
    return make_error(Errc::kSystem, "standard output is closed: its reader has ended");
  }
  // Used if an earlier write failed, because the reason is no longer known.
  const char kLost[] = "cannot write all output to standard output";
  if (sys_errno != 0) return make_system_error(sys_errno, kLost);
  return make_error(Errc::kSystem, absl::StrCat(kLost, ": its disk is full or failed"));
}

}  // namespace

bool has_standard_input() {
  return allows(STDIN_FILENO, O_WRONLY);
}

bool has_standard_output() {
  return allows(STDOUT_FILENO, O_RDONLY);
}

absl::Status flush_output() {
  errno = 0;
  const bool was_good = std::cout.good();
  std::cout.flush();
  if (std::cout.good()) return absl::OkStatus();
  lost_output_told = true;
  return lost_output(was_good ? errno : 0);
}

bool told_of_lost_output() {
  return lost_output_told;
}

bool is_output_unread() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace lapwing::cli
