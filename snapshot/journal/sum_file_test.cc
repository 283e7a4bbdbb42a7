#include "snapshot/journal/sum_file.h"

#include <catch2/catch.hpp>
#include <vector>

namespace lapwing {
namespace {

constexpr JournalGeometry kSumGeometry{.slot_bytes = 64, .record_bytes = 56, .segment_slots = 1024};
constexpr Id128 kSumJournal{{1, 2, 3}};

std::vector<std::byte> some_block() {
  std::vector<std::byte> block(kPageBytes);
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i * 7);
  return block;
}

TEST_CASE("A sum is valid for its prefix however the rest of the block changes") {
  std::vector<std::byte> block = some_block();
  const SumEntry entry = make_sum(kSumJournal, 5, std::span(block).first(3 * 64), 3);
  CHECK(check_sum_entry(kSumJournal, 5, entry, kSumGeometry) == SumState::kValid);
  CHECK(sum_matches(entry, block, kSumGeometry));
  block[3 * 64] ^= std::byte{1};
  CHECK(sum_matches(entry, block, kSumGeometry));
  block[3 * 64 - 1] ^= std::byte{1};
  CHECK_FALSE(sum_matches(entry, block, kSumGeometry));
}

TEST_CASE("Any flipped bit of a sum entry is damage, never another prefix") {
  const std::vector<std::byte> block = some_block();
  const SumEntry entry = make_sum(kSumJournal, 5, std::span(block).first(8 * 64), 8);
  for (std::size_t bit = 0; bit < 8 * sizeof entry; ++bit) {
    SumEntry flipped = entry;
    reinterpret_cast<std::uint8_t*>(&flipped)[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    INFO("bit " << bit);
    CHECK(check_sum_entry(kSumJournal, 5, flipped, kSumGeometry) == SumState::kDamaged);
  }
}

TEST_CASE("A sum entry is valid only at its own offset and in its own journal") {
  const std::vector<std::byte> block = some_block();
  const SumEntry entry = make_sum(kSumJournal, 5, block, 64);
  CHECK(check_sum_entry(kSumJournal, 6, entry, kSumGeometry) == SumState::kDamaged);
  CHECK(check_sum_entry(Id128{{9}}, 5, entry, kSumGeometry) == SumState::kDamaged);
  CHECK(check_sum_entry(kSumJournal, 5, SumEntry{}, kSumGeometry) == SumState::kEmpty);
}

TEST_CASE("Sum entries are in block order, from 0 in each segment") {
  CHECK(sum_file_bytes(kSumGeometry) == 16 * sizeof(SumEntry));
  CHECK(sum_offset(kSumGeometry, 0) == 0);
  CHECK(sum_offset(kSumGeometry, 15) == 15 * sizeof(SumEntry));
  CHECK(sum_offset(kSumGeometry, 16) == 0);
}

}  // namespace
}  // namespace lapwing
