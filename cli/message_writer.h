// Writes messages to a descriptor, many per system call, directly from the channel's memory.
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
  // `by_line` adds a line feed after each message. `show_types` adds the type and a tab before it.
  MessageWriter(int fd, bool by_line, bool show_types)
      : fd_(fd), by_line_(by_line), show_types_(show_types) {}

  struct Written {
    std::size_t messages = 0;  // written completely
    absl::Status status;
  };
  // Writes all messages, at most kMessagesPerWrite. Errors: kNoSpace, kSystem; the error text
  // contains the unwritten message's number, counted over all calls. A stop (stop_signal.h) ends a
  // blocked write.
  Written write(std::span<const Message> messages);

  // The error if the descriptor's reader has closed it.
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

  // State of one call.
  std::array<iovec, 3 * kMessagesPerWrite> vectors_;  // the unwritten part of each vector
  std::size_t next_ = 0;                              // first vector not written completely
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;  // bytes to write
  std::size_t bytes_written_ = 0;
  std::array<std::size_t, kMessagesPerWrite> ends_;  // ends of the messages, as byte offsets
  std::array<std::string, kMessagesPerWrite> types_;
};

}  // namespace lapwing::cli
