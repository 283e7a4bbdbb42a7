// What a benchmark publishes or copies: packed records in a buffer that stays in the cache, as a
// feed's decoder leaves them, taken in turn for ever.
//
// Thread safety: one thread. next() and next_batch() are a few instructions, the same for every
// subject and floor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::bench {

// What a program that knows its records publishes and takes.
template <std::size_t kBytes>
struct TypedRecord {
  std::uint64_t words[kBytes / 8];
};

inline constexpr std::size_t kSourceRecords = 512;  // 28 KiB of 56-byte records
inline constexpr std::size_t kBatchRecords = 32;    // divides kSourceRecords

class RecordSource {
 public:
  explicit RecordSource(std::size_t record_bytes)
      : record_bytes_(record_bytes), bytes_(record_bytes * kSourceRecords) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i * 37);
  }

  std::span<const std::byte> next() { return take(1); }
  // The same as a struct of record_bytes.
  template <typename Record>
  const Record& next_as() {
    return *reinterpret_cast<const Record*>(take(1).data());
  }
  std::span<const std::byte> next_batch() { return take(kBatchRecords); }

 private:
  std::span<const std::byte> take(std::size_t records) {
    const std::byte* const first = bytes_.data() + next_ * record_bytes_;
    next_ = (next_ + records) % kSourceRecords;
    return {first, records * record_bytes_};
  }

  std::size_t record_bytes_;
  std::size_t next_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace lapwing::bench
