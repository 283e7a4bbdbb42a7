// Records of one size that a step has read in bulk. They are handed out one or many at a time.
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
  static constexpr std::size_t kBytes = 256 * 1024;  // at most, unless one record is larger

  // Empties the block, and makes room for records of this size.
  void resize(std::uint32_t record_bytes) {
    record_bytes_ = record_bytes;
    bytes_.resize(std::max<std::size_t>(kBytes / record_bytes, 1) * record_bytes);
    begin_ = end_ = 0;
  }

  // 0 before the first resize().
  std::uint32_t record_bytes() const { return record_bytes_; }

  // Requires an empty block. The memory to read into; filled() then sets
  // the number of records read.
  std::span<std::byte> room() { return bytes_; }
  void filled(std::uint64_t records) {
    begin_ = 0;
    end_ = records;
  }

  bool empty() const { return begin_ == end_; }
  // Requires !empty(). The next record, valid until the next filled().
  const std::byte* take() { return bytes_.data() + begin_++ * record_bytes_; }
  // The remaining records, contiguous, valid until the next filled().
  std::span<const std::byte> rest() const {
    return std::span(bytes_).subspan(begin_ * record_bytes_, (end_ - begin_) * record_bytes_);
  }
  // Drops this many records.
  void skip(std::uint64_t records) { begin_ += records; }
  // Copies as many of the remaining records as fit, contiguously. Returns their number.
  std::uint64_t take(std::span<std::byte> out) {
    const auto records = std::min<std::uint64_t>(end_ - begin_, out.size() / record_bytes_);
    std::memcpy(out.data(), bytes_.data() + begin_ * record_bytes_, records * record_bytes_);
    begin_ += records;
    return records;
  }

 private:
  std::uint32_t record_bytes_ = 0;
  std::vector<std::byte> bytes_;
  std::uint64_t begin_ = 0;  // the first remaining record …
  std::uint64_t end_ = 0;    // … and the end of the records
};

}  // namespace lapwing
