// Records of one size that a step read, many at a time, and that are handed out one by one or many at
// once.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace lapwing {

class RecordBlock {
 public:
  static constexpr std::size_t kBytes = 256 * 1024;  // at most, but for one record

  // Empty from now on, with room for records of this size.
  void resize(std::uint32_t record_bytes) {
    record_bytes_ = record_bytes;
    bytes_.resize(std::max<std::size_t>(kBytes / record_bytes, 1) * record_bytes);
    begin_ = end_ = 0;
  }

  // 0 before the first resize().
  std::uint32_t record_bytes() const { return record_bytes_; }

  // While it is empty: memory to read into, of which filled() says how many records came.
  std::span<std::byte> room() { return bytes_; }
  void filled(std::uint64_t records) {
    begin_ = 0;
    end_ = records;
  }

  bool empty() const { return begin_ == end_; }
  // Not empty: the next record, in its place until the next filled().
  const std::byte* take() { return bytes_.data() + begin_++ * record_bytes_; }
  // All that are left, end to end, in their place until the next filled().
  std::span<const std::byte> rest() const {
    return std::span(bytes_).subspan(begin_ * record_bytes_, (end_ - begin_) * record_bytes_);
  }
  // So many of them are not wanted.
  void skip(std::uint64_t records) { begin_ += records; }
  // As many as are there and fit, end to end; how many.
  std::uint64_t take(std::span<std::byte> out) {
    const auto records = std::min<std::uint64_t>(end_ - begin_, out.size() / record_bytes_);
    std::memcpy(out.data(), bytes_.data() + begin_ * record_bytes_, records * record_bytes_);
    begin_ += records;
    return records;
  }

 private:
  std::uint32_t record_bytes_ = 0;
  std::vector<std::byte> bytes_;
  std::uint64_t begin_ = 0;  // the first record that is left …
  std::uint64_t end_ = 0;    // … and behind the last
};

}  // namespace lapwing
