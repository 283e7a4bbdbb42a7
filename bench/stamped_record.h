// A record that contains its number and its due time, and that cannot be mistaken for another. Rows
// publish it to measure the age of records on arrival.
//
//   word 0       its number, from 1
//   word 1       when it was due, in ticks()
//   words 2 – 5  number + i * a constant, so that mixed words of two records are detected
//   word 6       number ^ due
//
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "bench/bench_bus.h"

namespace lapwing::bench {

class StampedRecord {
 public:
  static constexpr std::size_t kWords = kRecordBytes / 8;
  static_assert(kWords == 7);

  StampedRecord(std::uint64_t number, std::uint64_t due_ticks) {
    words_[0] = number;
    words_[1] = due_ticks;
    for (std::size_t i = 2; i < kWords - 1; ++i) words_[i] = number + i * kStep;
    words_[kWords - 1] = number ^ due_ticks;
  }
  // Copies a received record completely.
  explicit StampedRecord(const std::byte* record) {
    std::memcpy(words_.data(), record, kRecordBytes);
  }

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)); }
  std::uint64_t number() const { return words_[0]; }
  std::uint64_t due_ticks() const { return words_[1]; }
  // Returns false for a torn record, whose words do not belong together.
  bool whole() const { return words_ == StampedRecord(number(), due_ticks()).words_; }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;
  std::array<std::uint64_t, kWords> words_;
};

}  // namespace lapwing::bench
