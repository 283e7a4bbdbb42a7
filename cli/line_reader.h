// Cuts what a descriptor gives into lines, by big reads.
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

  // A line of up to `line_bytes_max` always fits, with room for a big read behind it. The memory is
  // touched only as far as lines need it.
  explicit LineReader(std::size_t line_bytes_max)
      : capacity_(line_bytes_max + kReadBytesMin), bytes_(new char[capacity_]) {}

  // Reads once, as much as there is room for; there is room whenever line() has nothing and what
  // is unfinished is no longer than a line may be. As read(): 0 at the end, -1 with errno.
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

  // The first line that was not taken, without its line feed: the same until take(). Nothing if it
  // is unfinished, unless the input has ended, where the last line needs no line feed.
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
    if (begin_ < end_) ++begin_;  // its line feed
    if (begin_ == end_) begin_ = end_ = 0;
    scanned_ = 0;
    found_ = false;
    ++taken_;
  }

  std::uint64_t number() const { return taken_ + 1; }   // of the line that line() gives
  std::size_t unread() const { return end_ - begin_; }  // bytes of lines that were not taken

 private:
  std::size_t capacity_;
  std::unique_ptr<char[]> bytes_;
  std::size_t begin_ = 0;    // of the first line that was not taken
  std::size_t end_ = 0;      // of what was read
  std::size_t scanned_ = 0;  // bytes from begin_ on that hold no line feed
  bool found_ = false;       // the line ends at begin_ + scanned_
  bool at_end_ = false;
  std::uint64_t taken_ = 0;
};

}  // namespace lapwing::cli
