// Records that were read from the bus but are not folded yet, because the bus may not have made
// them durable or because their event has not ended. Their sequences are consecutive.
//
// Thread safety: one thread. Owns its memory, kPendingBytesMax bytes, regardless of the number of
// records.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::size_t kPendingBytesMax = 16 << 20;

class PendingRecords {
 public:
  // Has room for at least one record.
  PendingRecords(std::size_t record_bytes, std::size_t bytes_max)
      : record_bytes_(record_bytes),
        memory_(std::max<std::size_t>(bytes_max / record_bytes, 1) * record_bytes) {}

  bool is_empty() const { return begin_ == end_; }
  bool is_full() const { return end_ - begin_ == memory_.size(); }
  std::size_t count() const { return (end_ - begin_) / record_bytes_; }
  Sequence first() const { return first_; }  // of the oldest record; requires !is_empty()
  Sequence last() const { return first_ + count() - 1; }
  // The number of records whose sequence is at most `through`.
  std::size_t count_through(Sequence through) const {
    if (is_empty() || through < first_) return 0;
    return through >= last() ? count() : static_cast<std::size_t>(through - first_ + 1);
  }
  std::span<const std::byte> record(std::size_t index) const {
    return {memory_.data() + begin_ + index * record_bytes_, record_bytes_};
  }

  // The memory for the next records; empty if the buffer is full.
  std::span<std::byte> room() {
    if (begin_ > 0 && memory_.size() - end_ < memory_.size() / 2) {
      std::memmove(memory_.data(), memory_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    return std::span(memory_).subspan(end_);
  }
  // Call it after writing this many records to room(). The first one has sequence `first`.
  void added(std::size_t records, Sequence first) {
    if (is_empty()) first_ = first;
    end_ += records * record_bytes_;
  }
  void drop(std::size_t records) {
    begin_ += records * record_bytes_;
    first_ += records;
    if (is_empty()) clear();
  }
  void clear() { begin_ = end_ = 0; }

 private:
  const std::size_t record_bytes_;
  std::vector<std::byte> memory_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Sequence first_ = kNoSequence;
};

}  // namespace lapwing
