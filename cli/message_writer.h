// Writes messages to a descriptor, many by one system call, straight from where they lie.
//
// Thread safety: one thread.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "lapwing/channel.h"

namespace lapwing::cli {

inline constexpr std::size_t kMessagesPerWrite = 256;

class MessageWriter {
 public:
  // `by_line`: a line feed behind each message. `show_types`: its type and a tab before it.
  MessageWriter(int fd, bool by_line, bool show_types)
      : fd_(fd), by_line_(by_line), show_types_(show_types) {}

  struct Written {
    std::size_t messages = 0;  // in full
    absl::Status status;
  };
  // Writes all of them, at most kMessagesPerWrite. Errors: kNoSpace, kSystem; they say which
  // message is missing, counted over all calls. A stop (stop_signal.h) ends a write that blocks.
  Written write(std::span<const Message> messages);

  // The error of a descriptor at whose other end is nobody.
  absl::Status closed() const;

 private:
  void lay_out(std::span<const Message> messages);
  void add(const void* bytes, std::size_t size);
  int write_vectors();
  void advance(std::size_t bytes);
  absl::Status failure(int sys_errno, std::size_t torn_bytes) const;

  int fd_;
  bool by_line_;
  bool show_types_;
  std::uint64_t written_ = 0;  // messages, over all calls

  // Of one call.
  std::array<iovec, 3 * kMessagesPerWrite> vectors_;  // what is left of each
  std::size_t next_ = 0;                              // the first that is not written in full
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;  // laid out
  std::size_t bytes_written_ = 0;
  std::array<std::size_t, kMessagesPerWrite> ends_;  // of each message, in bytes laid out
  std::array<std::string, kMessagesPerWrite> types_;
};

}  // namespace lapwing::cli
