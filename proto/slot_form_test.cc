#include "proto/slot_form.h"
#include "lapwing/detail/atomic_word.h"
#include "proto/ring_layout.h"
#include "proto/slot_stamp.h"

#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace lapwing {
namespace {

// Memory between two inaccessible pages, so that an access beyond its ends crashes.
class FencedBytes {
 public:
  explicit FencedBytes(std::size_t size) : size_(size) {
    void* const base = mmap(nullptr, 3 * kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(base != MAP_FAILED);
    base_ = static_cast<std::byte*>(base);
    REQUIRE(mprotect(base_ + kPageBytes, kPageBytes, PROT_READ | PROT_WRITE) == 0);
  }
  ~FencedBytes() { munmap(base_, 3 * kPageBytes); }
  FencedBytes(const FencedBytes&) = delete;
  FencedBytes& operator=(const FencedBytes&) = delete;

  std::byte* at_front() const { return base_ + kPageBytes; }
  std::byte* at_back() const { return base_ + 2 * kPageBytes - size_; }

 private:
  std::size_t size_;
  std::byte* base_ = nullptr;
};

std::byte byte_of(Sequence n, std::size_t i) {
  return static_cast<std::byte>(n * 31 + i * 7 + 1);
}

void fill(std::byte* record, std::size_t bytes, Sequence n) {
  for (std::size_t i = 0; i < bytes; ++i) record[i] = byte_of(n, i);
}

bool holds(const std::byte* record, std::size_t bytes, Sequence n) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (record[i] != byte_of(n, i)) return false;
  }
  return true;
}

TEST_CASE("A record of any size goes through a slot, and no other byte is touched") {
  for (std::uint32_t bytes = kRecordBytesMin; bytes <= kRecordBytesMax; ++bytes) {
    // Tests only one in 64 of the larger sizes, because the system calls take most of the time.
    if (bytes > 300 && bytes % 64 != 0 && bytes != kRecordBytesMax) continue;
    INFO("records of " << bytes << " bytes");
    const FencedBytes record(bytes);
    const FencedBytes copy(bytes);
    const FencedBytes slot(slot_bytes_for(bytes));
    for (const bool front : {true, false}) {
      std::byte* const from = front ? record.at_front() : record.at_back();
      std::byte* const to = front ? copy.at_front() : copy.at_back();
      std::byte* const place = front ? slot.at_front() : slot.at_back();
      fill(from, bytes, 7);
      SlotForm::store_slot(place, 7, from, bytes);
      const SlotReadResult read = SlotForm::load_slot(place, 7, to, bytes);
      REQUIRE(read.outcome == SlotRead::kRecord);
      REQUIRE(holds(to, bytes, 7));
    }
  }
}

TEST_CASE("A slot is stamp, record and zeroes") {
  for (const std::uint32_t bytes : {8u, 9u, 15u, 16u, 48u, 55u, 56u, 57u, 80u, 81u, 4088u}) {
    INFO("records of " << bytes << " bytes");
    std::vector<std::byte> record(bytes);
    fill(record.data(), bytes, 9);
    alignas(16) std::byte slot[kSlotBytesMax] = {};
    // The old content is longer than the record. No part of its last word may remain.
    std::fill(slot + 8, slot + 8 + 8 * words_for(bytes), std::byte{0xff});
    SlotForm::store_slot(slot, 9, record.data(), bytes);

    std::vector<std::byte> expected(kSlotBytesMax);
    expected[0] = std::byte{18};
    std::copy(record.begin(), record.end(), expected.begin() + 8);
    CHECK(std::equal(expected.begin(), expected.end(), slot));
  }
}

TEST_CASE("The caller's record may lie at any address") {
  alignas(16) std::byte slot[128] = {};
  std::byte bytes[256];
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::byte* const from = bytes + shift;
    std::byte* const to = bytes + 128 + shift;
    fill(from, 80, shift + 1);
    SlotForm::store_slot(slot, shift + 1, from, 80);
    REQUIRE(SlotForm::load_slot(slot, shift + 1, to, 80).outcome == SlotRead::kRecord);
    CHECK(holds(to, 80, shift + 1));
  }
}

TEST_CASE("A slot answers for the record it holds, and for no other") {
  alignas(16) std::byte slot[64] = {};
  std::byte record[56] = {};
  CHECK(SlotForm::load_slot(slot, 5, record, 56).outcome == SlotRead::kNotYet);
  SlotForm::store_slot(slot, 5, record, 56);
  CHECK(SlotForm::load_slot(slot, 4, record, 56).outcome == SlotRead::kNewer);
  CHECK(SlotForm::load_slot(slot, 5, record, 56).outcome == SlotRead::kRecord);
  const SlotReadResult next = SlotForm::load_slot(slot, 6, record, 56);
  CHECK(next.outcome == SlotRead::kNotYet);
  CHECK(next.stamp == 10);
}

TEST_CASE("A record that is being written is not there yet, and the one before is gone") {
  alignas(16) std::byte slot[64] = {};
  std::byte record[56] = {};
  SlotForm::store_slot(slot, 5, record, 56);
  detail::store(*reinterpret_cast<Word*>(slot), writing_stamp(69), std::memory_order_release);
  CHECK(SlotForm::load_slot(slot, 69, record, 56).outcome == SlotRead::kNotYet);
  const SlotReadResult gone = SlotForm::load_slot(slot, 5, record, 56);
  CHECK(gone.outcome == SlotRead::kNewer);
  CHECK(gone.stamp == 137);
}

TEST_CASE("A stamp speaks of one sequence, and proves one published") {
  CHECK(stamp_sequence(0) == 0);
  CHECK(stamp_sequence(writing_stamp(1)) == 1);
  CHECK(stamp_sequence(ready_stamp(1)) == 1);
  CHECK(stamp_published(writing_stamp(1)) == 0);
  CHECK(stamp_published(ready_stamp(1)) == 1);
  CHECK(stamp_sequence(ready_stamp(kSequenceMax)) == kSequenceMax);
  CHECK(stamp_published(writing_stamp(kSequenceMax)) == kSequenceMax - 1);
}

TEST_CASE("The oldest sequence in a ring is bounded by its first and by a lap") {
  CHECK(ring_oldest(1, 0, 64) == 1);
  CHECK(ring_oldest(1, 63, 64) == 1);
  CHECK(ring_oldest(1, 64, 64) == 1);
  CHECK(ring_oldest(1, 65, 64) == 2);
  CHECK(ring_oldest(101, 100, 64) == 101);  // head + 1: there are no records yet
  CHECK(ring_oldest(101, 164, 64) == 101);
  CHECK(ring_oldest(101, 165, 64) == 102);
  CHECK(ring_oldest(1, kSequenceMax, 64) == kSequenceMax - 63);
}

TEST_CASE("A resumption leaves an eighth of the ring, is never behind, and does not wrap") {
  CHECK(resume_after_lap(1, ready_stamp(65), 65, 64) == 65 - 56);
  CHECK(resume_after_lap(1, ready_stamp(65), 128, 64) == 128 - 56);  // head leads
  CHECK(resume_after_lap(1, ready_stamp(129), 65, 64) == 129 - 56);  // the stamp leads
  CHECK(resume_after_lap(100, ready_stamp(164), 150, 64) == 108);
  CHECK(resume_after_lap(140, ready_stamp(204), 150, 64) == 148);
  CHECK(resume_after_lap(149, writing_stamp(213), 150, 64) == 212 - 56);
  CHECK(resume_after_lap(160, ready_stamp(161), 150, 64) == 161);  // at least the next
  CHECK(resume_after_lap(1, 0, 3, 64) == 2);                       // lead - keep is below 0
  CHECK(resume_after_lap(1, ready_stamp(kSequenceMax), 0, 64) == kSequenceMax - 56);
  CHECK(resume_after_lap(1, UINT64_MAX, 0, std::uint64_t{1} << 32) ==
        kSequenceMax - (std::uint64_t{7} << 29));
}

TEST_CASE("A stamp is corrupt of another slot, or more than a ring ahead of head") {
  CHECK_FALSE(stamp_is_corrupt(0, 5, 0, 64));
  CHECK_FALSE(stamp_is_corrupt(ready_stamp(5), 5, 0, 64));
  CHECK_FALSE(stamp_is_corrupt(writing_stamp(69), 5, 5, 64));
  CHECK(stamp_is_corrupt(writing_stamp(69), 5, 4, 64));
  CHECK_FALSE(
      stamp_is_corrupt(ready_stamp(5), 69, 1'000'000, 64));  // stale: read before head moved
  CHECK(stamp_is_corrupt(ready_stamp(6), 5, 6, 64));
  CHECK(stamp_is_corrupt(ready_stamp(4), 5, 6, 64));
  CHECK(stamp_is_corrupt(1, 5, 6, 64));
  CHECK_FALSE(stamp_is_corrupt(1, 1, 0, 64));
  CHECK(stamp_is_corrupt(UINT64_MAX, 5, 6, 64));
  CHECK(stamp_is_corrupt(UINT64_MAX, 64, 6, 64));
  CHECK_FALSE(stamp_is_corrupt(ready_stamp(kSequenceMax), kSequenceMax, kSequenceMax, 64));
}

}  // namespace
}  // namespace lapwing
