// For tests: a fold in which every detail counts. Each record changes one of 1,024 tallies, and
// each loss changes one more: the number of changes, the sum of the sequences, and a chain over
// both in order. Therefore duplicated, omitted or reordered input gives different entries. One
// record in eight settles. The file also contains the same fold in memory, for comparison. Test
// code only.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "lapwing/fold.h"
#include "lapwing/memory_state.h"

namespace lapwing {

class TallyFold final : public Fold {
 public:
  static constexpr std::uint32_t kKeyBytes = 4;
  struct Tally {
    std::uint8_t key[kKeyBytes];
    std::uint32_t count;
    std::uint64_t sum;
    std::uint64_t chain;
  };

  explicit TallyFold(std::uint32_t version = 1, bool settles = true) : settles_(settles) {
    shape_.name = "tally";
    shape_.schema = "bytes";
    shape_.version = version;
    shape_.record_bytes = 56;
    shape_.entry_bytes = sizeof(Tally);
    shape_.key_bytes = kKeyBytes;
  }
  const FoldShape& shape() const override { return shape_; }
  void key_of(std::span<const std::byte> entry, std::span<std::byte> key) const override {
    std::memcpy(key.data(), entry.data(), kKeyBytes);
  }
  void apply(Sequence sequence, std::span<const std::byte> record,
             FoldState& state) const override {
    std::byte key[kKeyBytes];
    reads(record, key);
    add(state, key, 1, sequence);
    // Occasionally reset all tallies with a prefix.
    if (record[3] == std::byte{1}) state.erase_prefix(std::span(key).first(1));
    if (record[3] == std::byte{2}) state.erase(key);
  }
  void lose(const Gap& gap, FoldState& state) const override {
    const std::byte key[kKeyBytes]{std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
    add(state, key, static_cast<std::uint32_t>(gap.count()), gap.first + gap.last);
  }
  bool settles(std::span<const std::byte> record) const override {
    return settles_ && (record[0] & std::byte{7}) == std::byte{0};
  }
  bool reads(std::span<const std::byte> record, std::span<std::byte> key) const override {
    const std::byte own[kKeyBytes]{record[1] & std::byte{15}, record[2] & std::byte{63},
                                   std::byte{1}};
    std::memcpy(key.data(), own, kKeyBytes);
    return true;
  }

 private:
  static void add(FoldState& state, std::span<const std::byte> key, std::uint32_t count,
                  std::uint64_t sum) {
    Tally tally{};
    std::memcpy(tally.key, key.data(), kKeyBytes);
    if (const std::byte* found = state.find(key); found != nullptr) {
      std::memcpy(&tally, found, sizeof tally);
    }
    tally.count += count;
    tally.sum += sum;
    tally.chain = tally.chain * 0x9e3779b97f4a7c15 + sum + count;
    state.put(key, std::as_bytes(std::span(&tally, 1)));
  }

  FoldShape shape_;
  const bool settles_;
};

// The state that a fold computes from a history, step by step.
class Reference {
 public:
  using Record = std::function<std::vector<std::byte>(Sequence n)>;
  explicit Reference(Record record) : record_(std::move(record)), state_(fold_.shape()) {}

  void fold_through(Sequence last) {
    for (; next_ <= last; ++next_) {
      const std::vector<std::byte> record = record_(next_);
      fold_.apply(next_, record, state_);
      if (!fold_.settles(record)) continue;
      settled_ = next_;
      settled_digest_ = state_.digest();
    }
  }
  void lose_beginning() { fold_.lose(kMissingBeginning, state_); }
  void lose_through(Sequence last) {
    fold_.lose({next_, last, last + 1, GapCause::kVoid, false}, state_);
    next_ = last + 1;
  }
  // The last record that settles, and the state as of it.
  Sequence settled() const { return settled_; }
  std::uint64_t settled_digest() const { return settled_digest_; }
  std::uint64_t digest() const { return state_.digest(); }

 private:
  const Record record_;
  TallyFold fold_;
  MemoryState state_;
  Sequence next_ = 1;
  Sequence settled_ = 0;
  std::uint64_t settled_digest_ = 0;
};

}  // namespace lapwing
