#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "snapshot/journal/journal_reader.h"
#include "testing/journal_fixture.h"
#include "testing/process_descriptors.h"

namespace lapwing {
namespace {

// Two finished segments and an unfinished one. A run is half a segment.
constexpr JournalGeometry kGeometry{64, 56, 8192};
constexpr Sequence kLast = 2 * 8192 + 100;
constexpr JournalBounds kMappedBounds{kLast, kLast, 1};
constexpr std::size_t kMany = 4096;  // records at once, enough to map

class Reading {
 public:
  Reading() {
    journal.begin(11, 1);
    journal.reserve(11, 4 * 8192);
    journal.write(1, kLast);
    auto opened = JournalReader::open(journal.disk(), journal.root(), JournalFixture::journal_id());
    REQUIRE(opened.ok());
    reader = std::move(*opened);
  }

  bool maps_segment(std::uint64_t segment) const { return maps(journal.file(segment, "jnl")); }

  // Reads the gap at `next`, or correct records from there on, and moves `next` past them.
  JournalRun read(std::size_t records_at_once = kMany) {
    std::vector<std::byte> out(records_at_once * kGeometry.record_bytes);
    const auto run = reader->read(next, kMappedBounds, out);
    REQUIRE(run.ok());
    for (std::uint64_t i = 0; i < run->count; ++i) {
      const auto expected = journal.record(next + i);
      REQUIRE(std::memcmp(out.data() + i * expected.size(), expected.data(), expected.size()) == 0);
    }
    next = run->gap ? run->gap_last + 1 : next + run->count;
    return *run;
  }

  // Returns the number of records read and the number lost in gaps, from `next` to the end.
  std::pair<std::uint64_t, std::uint64_t> read_to_end(std::size_t records_at_once = kMany) {
    std::uint64_t records = 0;
    std::uint64_t lost = 0;
    while (next <= kLast) {
      const Sequence first = next;
      const JournalRun run = read(records_at_once);
      REQUIRE((run.gap || run.count > 0));
      (run.gap ? lost : records) += next - first;
    }
    return {records, lost};
  }

  JournalFixture journal{kGeometry};
  std::unique_ptr<JournalReader> reader;
  Sequence next = 1;
};

}  // namespace

TEST_CASE("A reader in sequence maps finished segments, and no other") {
  Reading reading;
  reading.read();  // the first read is small
  REQUIRE_FALSE(reading.maps_segment(0));
  reading.read();
  REQUIRE(reading.maps_segment(0));
  while (reading.next <= 8192 + 1) reading.read();
  REQUIRE_FALSE(reading.maps_segment(0));
  REQUIRE(reading.maps_segment(1));
  while (reading.next <= 2 * 8192 + 1) reading.read();
  REQUIRE_FALSE(reading.maps_segment(1));
  reading.read_to_end();
  REQUIRE_FALSE(reading.maps_segment(2));
}

TEST_CASE("Mapped and unmapped reads return the same records, with any size of a read") {
  for (const std::size_t at_once : {1u, 100u, 1000u, 1024u, 4000u, 4096u, 5000u, 20000u}) {
    Reading reading;
    REQUIRE(reading.read_to_end(at_once) == std::pair(kLast, std::uint64_t{0}));
  }
}

TEST_CASE("A mapped run may begin within a block") {
  Reading reading;
  while (!reading.maps_segment(0)) reading.read(1030);
  REQUIRE((reading.next - 1) % 64 != 0);
  REQUIRE(reading.next + kMany < 8192);
  const Sequence before = reading.next - 1;
  REQUIRE(reading.read_to_end(5000) == std::pair(kLast - before, std::uint64_t{0}));
}

TEST_CASE("A small read does not map") {
  Reading reading;
  reading.read(100);
  while (reading.next < 4096) reading.read(100);
  REQUIRE_FALSE(reading.maps_segment(0));
}

TEST_CASE("A segment that other users may write is read, not mapped") {
  Reading reading;
  std::filesystem::permissions(reading.journal.file(0, "jnl"), std::filesystem::perms::group_write,
                               std::filesystem::perm_options::add);
  while (reading.next < 8192) {
    reading.read();
    REQUIRE_FALSE(reading.maps_segment(0));
  }
}

TEST_CASE("A flipped bit of a mapped segment loses only its block") {
  for (const Sequence n : {2000u, 4097u, 8192u, 8193u, 16384u}) {
    Reading reading;
    flip_bit(reading.journal.file((n - 1) / 8192, "jnl"), kGeometry.offset_of(n) + 20, 3);
    REQUIRE(reading.read_to_end() == std::pair(kLast - 64, std::uint64_t{64}));
  }
}

TEST_CASE(
    "A segment that is truncated while it is mapped is damage, and does not end the process") {
  Reading reading;
  while (!reading.maps_segment(0)) reading.read();
  const Sequence cut = reading.next + 64;
  REQUIRE(cut < 8192);
  std::filesystem::resize_file(reading.journal.file(0, "jnl"), kGeometry.offset_of(cut));
  const auto [records, lost] = reading.read_to_end();
  REQUIRE(lost <= 8192 - cut + 64);
  REQUIRE(lost >= 8192 - cut + 1);
}

TEST_CASE("A mapped record that is read again is not read from the mapping") {
  Reading reading;
  while (!reading.maps_segment(0)) reading.read();
  const Sequence first = reading.next;
  REQUIRE(reading.read().count > 0);
  std::filesystem::resize_file(reading.journal.file(0, "jnl"), kGeometry.offset_of(first));
  for (const std::size_t at_once : {std::size_t{1}, kMany}) {
    reading.next = first;
    REQUIRE(reading.read(at_once).gap);
  }
}

TEST_CASE("A segment that is too short from the start is not mapped") {
  Reading reading;
  std::filesystem::resize_file(reading.journal.file(1, "jnl"), kGeometry.offset_of(8192 + 4097));
  while (reading.next <= 8192 + 2048) reading.read();
  REQUIRE_FALSE(reading.maps_segment(1));
  REQUIRE(reading.read_to_end().second == 4096);
}

}  // namespace lapwing
