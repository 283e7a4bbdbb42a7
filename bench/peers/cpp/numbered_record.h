// Records that detect damage: word 0 is the number, word i is the number + i * kStride. Words of
// two different records never match.
//
// Thread safety: free functions from any thread; an Arrivals object from one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::peers {

inline constexpr std::uint64_t kStride = 0x9E3779B97F4A7C15;
// Ends an echo. No counted record has this number.
inline constexpr std::uint64_t kEndNumber = ~std::uint64_t{0};
// Set by an echo in the number of a record that arrived damaged.
inline constexpr std::uint64_t kDamagedBit = std::uint64_t{1} << 63;

template <std::size_t words>
void fill_fixed(std::uint64_t* record, std::uint64_t number) {
  for (std::size_t i = 0; i < words; ++i) record[i] = number + i * kStride;
}
template <std::size_t words>
std::uint64_t differences_fixed(const std::uint64_t* record) {
  std::uint64_t found = 0;
  for (std::size_t i = 1; i < words; ++i) found |= record[i] ^ (record[0] + i * kStride);
  return found;
}

// Writes a complete record; without a loop for 56 and 32 bytes.
inline void fill(std::uint64_t* record, std::size_t words, std::uint64_t number) {
  if (words == 7) return fill_fixed<7>(record, number);
  if (words == 4) return fill_fixed<4>(record, number);
  for (std::size_t i = 0; i < words; ++i) record[i] = number + i * kStride;
}

// Reads a complete record. Returns whether all its words belong to one record.
inline bool is_whole(const std::uint64_t* record, std::size_t words) {
  if (words == 7) return differences_fixed<7>(record) == 0;
  if (words == 4) return differences_fixed<4>(record) == 0;
  std::uint64_t found = 0;
  for (std::size_t i = 1; i < words; ++i) found |= record[i] ^ (record[0] + i * kStride);
  return found == 0;
}

// Counts the records 1, 2, 3, … received by a reader, or those after a given record.
class Arrivals {
 public:
  // Counts records after `last`.
  explicit Arrivals(std::size_t words, std::uint64_t last = 0) : words_(words), last_(last) {}

  void add(const std::uint64_t* record) {
    ++received_;
    if (!is_whole(record, words_)) {
      ++torn_;
      return;
    }
    const std::uint64_t number = record[0];
    if (number <= last_) {
      ++out_of_order_;
      return;
    }
    ++in_order_;
    last_ = number;
  }

  std::uint64_t received() const { return received_; }
  std::uint64_t torn() const { return torn_; }
  std::uint64_t out_of_order() const { return out_of_order_; }
  std::uint64_t last() const { return last_; }
  // The number of `published` records that were lost. Torn records count as torn, not as lost.
  std::uint64_t lost(std::uint64_t published) const {
    const std::uint64_t came = in_order_ + torn_;
    return came < published ? published - came : 0;
  }

 private:
  std::size_t words_;
  std::uint64_t received_ = 0;
  std::uint64_t in_order_ = 0;
  std::uint64_t torn_ = 0;
  std::uint64_t out_of_order_ = 0;
  std::uint64_t last_;
};

}  // namespace lapwing::peers
