// Records of one size over a pair of descriptors that carry bytes: a Unix socket or two pipes.
//
// Writes several records per call, and reads all available bytes. Never waits.
//
// Thread safety: one thread. Does not own the descriptors.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "bench/peers/cpp/numbered_record.h"
#include "bench/peers/cpp/options.h"

namespace lapwing::peers {

class ByteStream {
 public:
  static constexpr std::uint64_t kRecordsTogether = 1024;

  ByteStream(std::size_t words, int in, int out)
      : words_(words),
        in_(in),
        out_(out),
        unsent_(words * kRecordsTogether),
        unread_(words * kRecordsTogether) {}

  std::uint64_t send_records_max() const { return kRecordsTogether; }
  std::int64_t reported_lost() const { return -1; }

  // A record counts as taken when it is in the buffer. The buffer takes records only when it is
  // empty. Bytes for which the kernel has no room are written by the next call.
  std::uint64_t send(std::uint64_t first, std::uint64_t count) {
    if (sent_bytes_ == unsent_bytes_) {
      for (std::uint64_t i = 0; i < count; ++i) {
        fill(unsent_.data() + i * words_, words_, first + i);
      }
      unsent_bytes_ = count * record_bytes();
      sent_bytes_ = 0;
    } else {
      count = 0;
    }
    while (sent_bytes_ < unsent_bytes_) {
      const ssize_t sent = write(out_, reinterpret_cast<const char*>(unsent_.data()) + sent_bytes_,
                                 unsent_bytes_ - sent_bytes_);
      if (sent < 0 && errno == EAGAIN) break;
      if (sent < 0) fail_with_errno("cannot write");
      sent_bytes_ += static_cast<std::size_t>(sent);
    }
    return count;
  }

  template <typename F>
  std::uint64_t receive(F&& on_record) {
    char* const bytes = reinterpret_cast<char*>(unread_.data());
    const ssize_t got =
        read(in_, bytes + unread_bytes_, unread_.size() * sizeof unread_[0] - unread_bytes_);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got < 0) fail_with_errno("cannot read");
    unread_bytes_ += static_cast<std::size_t>(got);
    const std::uint64_t count = unread_bytes_ / record_bytes();
    for (std::uint64_t i = 0; i < count; ++i) on_record(unread_.data() + i * words_);
    unread_bytes_ -= count * record_bytes();
    std::memmove(bytes, bytes + count * record_bytes(), unread_bytes_);
    return count;
  }

 private:
  std::size_t record_bytes() const { return words_ * sizeof(std::uint64_t); }

  std::size_t words_;
  int in_;
  int out_;
  std::vector<std::uint64_t> unsent_;
  std::size_t unsent_bytes_ = 0;
  std::size_t sent_bytes_ = 0;
  std::vector<std::uint64_t> unread_;
  std::size_t unread_bytes_ = 0;
};

}  // namespace lapwing::peers
