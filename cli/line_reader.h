// Splits the input from a descriptor into lines, with large reads.
//
// Thread safety: one thread.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

namespace lapwing::cli {

class LineReader {
 public:
  static constexpr std::size_t kReadBytesMin = 256 * 1024;

  // The buffer has room for a line of `line_bytes_max` and a large read after it. Memory is touched
  // only as lines need it.
  explicit LineReader(std::size_t line_bytes_max)
      : capacity_(line_bytes_max + kReadBytesMin), bytes_(new char[capacity_]) {}

  // Reads once, as much as fits. There is room if line() returns nullopt and the unfinished line is
  // not too long. Returns what read() returns: 0 at the end of the input, -1 and errno.
  ssize_t read_more(int fd) {
    if (begin_ > 0 && capacity_ - end_ < kReadBytesMin) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    const ssize_t got = read(fd, bytes_.get() + end_, capacity_ - end_);
    if (got > 0) end_ += static_cast<std::size_t>(got);
    if (got == 0) at_end_ = true;
    return got;
  }
  bool at_end() const { return at_end_; }

  // Returns the first line not taken yet, without its line feed; the same line until take().
  // Returns nullopt if the line is unfinished. At the end of the input, a line needs no line feed.
  std::optional<std::span<const std::byte>> line() {
    if (!found_) {
      const char* from = bytes_.get() + begin_ + scanned_;
      const void* feed = std::memchr(from, '\n', end_ - begin_ - scanned_);
      scanned_ =
          feed != nullptr
              ? static_cast<std::size_t>(static_cast<const char*>(feed) - bytes_.get()) - begin_
              : end_ - begin_;
      found_ = feed != nullptr || (at_end_ && scanned_ > 0);
      if (!found_) return std::nullopt;
    }
    return std::as_bytes(std::span(bytes_.get() + begin_, scanned_));
  }
  void take() {
    begin_ += scanned_;
    if (begin_ < end_) ++begin_;  // skip its line feed
    if (begin_ == end_) begin_ = end_ = 0;
    scanned_ = 0;
    found_ = false;
    ++taken_;
  }

  std::uint64_t number() const { return taken_ + 1; }   // number of the line that line() returns
  std::size_t unread() const { return end_ - begin_; }  // bytes not yet taken

 private:
  std::size_t capacity_;
  std::unique_ptr<char[]> bytes_;
  std::size_t begin_ = 0;    // first line not taken yet
  std::size_t end_ = 0;      // end of the bytes read
  std::size_t scanned_ = 0;  // bytes from begin_ without a line feed
  bool found_ = false;       // the line ends at begin_ + scanned_
  bool at_end_ = false;
  std::uint64_t taken_ = 0;
};

}  // namespace lapwing::cli
