#include "cli/message_writer.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "cli/stop_signal.h"
#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing::cli {
namespace {

// Waits until a non-blocking descriptor is writable or a stop is requested.
void await_writable(int fd) {
  std::array<pollfd, 2> entries = {{{fd, POLLOUT, 0}, {stop_fd(), POLLIN, 0}}};
  poll(entries.data(), entries.size(), -1);
}

}  // namespace

MessageWriter::Written MessageWriter::write(std::span<const Message> messages) {
  lay_out(messages);
  const int failed = write_vectors();
  Written written;
  while (written.messages < messages.size() && ends_[written.messages] <= bytes_written_) {
    ++written.messages;
  }
  written_ += written.messages;
  if (failed == 0) return written;
  const std::size_t torn =
      bytes_written_ - (written.messages == 0 ? 0 : ends_[written.messages - 1]);
  if (failed == EINTR && torn == 0) return written;  // stopped between two messages
  written.status = failure(failed, torn);
  return written;
}

void MessageWriter::lay_out(std::span<const Message> messages) {
  next_ = count_ = bytes_ = bytes_written_ = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (show_types_) {
      types_[i] = absl::StrCat(messages[i].type, "\t");
      add(types_[i].data(), types_[i].size());
    }
    add(messages[i].payload.data(), messages[i].payload.size());
    if (by_line_) add("\n", 1);
    ends_[i] = bytes_;
  }
}

void MessageWriter::add(const void* bytes, std::size_t size) {
  if (size == 0) return;
  vectors_[count_++] = {const_cast<void*>(bytes), size};
  bytes_ += size;
}

// Returns 0 or errno. EINTR: a stop was requested.
int MessageWriter::write_vectors() {
  while (next_ < count_) {
    const ssize_t got = writev(fd_, &vectors_[next_], static_cast<int>(count_ - next_));
    if (got >= 0) {
      advance(static_cast<std::size_t>(got));
    } else if (errno == EAGAIN) {
      await_writable(fd_);
    } else if (errno != EINTR) {
      return errno;
    }
    if (next_ < count_ && stop_requested()) return EINTR;
  }
  return 0;
}

void MessageWriter::advance(std::size_t bytes) {
  bytes_written_ += bytes;
  while (next_ < count_ && bytes >= vectors_[next_].iov_len) bytes -= vectors_[next_++].iov_len;
  if (bytes == 0) return;
  vectors_[next_].iov_base = static_cast<char*>(vectors_[next_].iov_base) + bytes;
  vectors_[next_].iov_len -= bytes;
}

absl::Status MessageWriter::failure(int sys_errno, std::size_t torn_bytes) const {
  const std::string what =
      sys_errno == EPIPE ? "standard output is closed: its reader has ended"
      : sys_errno == EINTR
          ? "stopped while standard output accepted no more bytes"
          : std::string(make_system_error(sys_errno, "writing standard output").message());
  const std::string torn =
      torn_bytes == 0 ? "" : absl::StrCat(" except its first ", torn_bytes, " bytes");
  const std::string before =
      written_ == 0 ? "" : absl::StrCat(", those before it were (", written_, ")");
  return make_error(
      errc_of(make_system_error(sys_errno, "")),
      absl::StrCat(what, "; message ", written_ + 1, " was not written", torn, before));
}

absl::Status MessageWriter::closed() const {
  return failure(EPIPE, 0);
}

}  // namespace lapwing::cli
