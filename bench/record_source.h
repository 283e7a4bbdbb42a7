// The records that a benchmark publishes or copies: packed in a buffer that stays in the cache, as
// if from a feed's decoder, and used cyclically.
//
// Thread safety: one thread. next() and next_batch() take a few instructions, the same number for
// every subject and floor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lapwing/schema.h"

namespace lapwing::bench {

// The record type of a program that knows its records.
template <std::size_t kBytes>
struct TypedRecord {
  std::uint64_t words[kBytes / 8];
};

// Records that describe themselves: only words, or with one word stamped by a TypedPublisher.
struct WordsRecord {
  std::uint64_t words[7];
};
LAPWING_RECORD(WordsRecord, "bench.words", 1, words);
struct StampedWords {
  std::uint64_t sent;
  std::uint64_t words[6];
};
LAPWING_RECORD(StampedWords, "bench.stamped_words", 1, (sent, kPublishTime), words);

inline constexpr std::size_t kSourceRecords = 512;  // 28 KiB of 56-byte records
inline constexpr std::size_t kBatchRecords = 32;    // divides kSourceRecords

class RecordSource {
 public:
  explicit RecordSource(std::size_t record_bytes)
      : record_bytes_(record_bytes), bytes_(record_bytes * kSourceRecords) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i * 37);
    next_ = bytes_.data();
    end_ = next_ + bytes_.size();
  }
  RecordSource(const RecordSource&) = delete;
  RecordSource& operator=(const RecordSource&) = delete;

  std::span<const std::byte> next() { return {take(record_bytes_), record_bytes_}; }
  // The same as a struct of record_bytes.
  template <typename Record>
  const Record& next_as() {
    return *reinterpret_cast<const Record*>(take(sizeof(Record)));
  }
  std::span<const std::byte> next_batch() {
    const std::size_t bytes = kBatchRecords * record_bytes_;
    return {take(bytes), bytes};
  }

 private:
  const std::byte* take(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - next_) < bytes) next_ = bytes_.data();
    const std::byte* const taken = next_;
    next_ += bytes;
    return taken;
  }

  std::size_t record_bytes_;
  std::vector<std::byte> bytes_;
  const std::byte* next_;
  const std::byte* end_;
};

}  // namespace lapwing::bench
