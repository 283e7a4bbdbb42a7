#include "snapshot/checkpoint/loaded_checkpoint.h"

#include <xxhash.h>

#include <catch2/catch.hpp>

#include "lapwing/error.h"
#include "lapwing/memory_state.h"
#include "proto/text_field.h"
#include "testing/checkpoint_fixture.h"
#include "testing/sim_disk.h"

namespace lapwing {
namespace {

constexpr Sequence kAsOf = 4711;
const std::string kPath = checkpoint_path(kSimRoot, kAsOf);

TEST_CASE("A checkpoint is read back as written, for any number and size of entries") {
  const auto [entry_bytes, count] = GENERATE(
      std::pair{16u, 0u}, std::pair{16u, 1u}, std::pair{1u, 100u}, std::pair{3u, 43'691u},
      std::pair{16u, 4'096u}, std::pair{16u, 40'960u}, std::pair{56u, 9'999u},
      std::pair{88u, 20'000u}, std::pair{4096u, 33u}, std::pair{4096u, 64u}, std::pair{4095u, 65u});
  const FixtureFold fold(entry_bytes);
  const auto entries = fold.entries(5, count);
  SimDisk disk(kSimRoot, 1);
  REQUIRE(write_checkpoint(disk, kSimRoot, fold, fixture_identity(kAsOf), entries).ok());

  const auto checkpoint = LoadedCheckpoint::load(disk, kPath);
  INFO(checkpoint.status().message());
  REQUIRE(checkpoint.ok());
  REQUIRE(checkpoint->identity() == fixture_identity(kAsOf));
  REQUIRE(checkpoint->size() == count);
  REQUIRE(to_vector(checkpoint->entries()) == entries);
  REQUIRE(checkpoint->digest() == XXH3_64bits(entries.data(), entries.size()));
  MemoryState state(fold.shape());
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = checkpoint->entry(i);
    state.put(entry.first(fold.shape().key_bytes), entry);
  }
  REQUIRE(checkpoint->digest() == state.digest());
  REQUIRE(get_text(checkpoint->header().fold) == "fixture");
  REQUIRE(get_text(checkpoint->header().schema) == "bytes");
  REQUIRE(checkpoint->header().record_bytes == 56);
  REQUIRE_FALSE(*disk.exists(kPath + kTemporarySuffix));
}

TEST_CASE("The division of entries into appends does not change the file") {
  const FixtureFold fold(24);
  const auto entries = fold.entries(0, 30'000);
  SimDisk disk(kSimRoot, 1);
  REQUIRE(write_checkpoint(disk, kSimRoot, fold, fixture_identity(1), entries).ok());
  auto writer = CheckpointWriter::create(disk, kSimRoot, fold, fixture_identity(2));
  REQUIRE(writer.ok());
  SimRandom random(3);
  for (std::size_t at = 0; at < entries.size();) {
    const std::size_t bytes = std::min<std::size_t>(24 * random.below(5'000), entries.size() - at);
    REQUIRE(writer->append(std::span(entries).subspan(at, bytes)).ok());
    at += bytes;
  }
  REQUIRE(writer->commit().ok());
  const auto first = LoadedCheckpoint::load(disk, checkpoint_path(kSimRoot, 1));
  const auto second = LoadedCheckpoint::load(disk, checkpoint_path(kSimRoot, 2));
  REQUIRE(first->header().sums_sum == second->header().sums_sum);
  REQUIRE(to_vector(first->entries()) == to_vector(second->entries()));
}

TEST_CASE("Every entry is found by its key and no other key finds one") {
  const FixtureFold fold(20);
  const std::uint64_t count = GENERATE(0u, 1u, 2u, 1'000u);
  SimDisk disk(kSimRoot, 1);
  REQUIRE(write_checkpoint(disk, kSimRoot, fold, fixture_identity(kAsOf), fold.entries(100, count))
              .ok());
  const auto checkpoint = LoadedCheckpoint::load(disk, kPath);
  REQUIRE(checkpoint.ok());
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = checkpoint->find(fold, fold.key(100 + 2 * i));
    REQUIRE(to_vector(entry) == fold.entries(100 + 2 * i, 1));
    REQUIRE(entry.data() == checkpoint->entry(i).data());
    REQUIRE(checkpoint->find(fold, fold.key(101 + 2 * i)).empty());
    REQUIRE(checkpoint->lower_bound(fold, fold.key(101 + 2 * i)) == i + 1);
  }
  REQUIRE(checkpoint->find(fold, fold.key(99)).empty());
}

TEST_CASE("Entries whose keys do not ascend are refused, within an append and between two") {
  const FixtureFold fold(16);
  SimDisk disk(kSimRoot, 1);
  auto writer = CheckpointWriter::create(disk, kSimRoot, fold, fixture_identity(kAsOf));
  REQUIRE(writer.ok());
  REQUIRE(writer->append(fold.entries(10, 3)).ok());
  SECTION("an equal key") {
    REQUIRE(errc_of(writer->append(fold.entries(14, 1))) == Errc::kInvalidArgument);
  }
  SECTION("a lower key") {
    REQUIRE(errc_of(writer->append(fold.entries(9, 1))) == Errc::kInvalidArgument);
  }
  SECTION("a lower key within an append") {
    auto entries = fold.entries(20, 2);
    const auto lower = fold.entries(19, 1);
    entries.insert(entries.end(), lower.begin(), lower.end());
    REQUIRE(errc_of(writer->append(entries)) == Errc::kInvalidArgument);
  }
  SECTION("half an entry") {
    const auto entries = fold.entries(20, 2);
    REQUIRE(errc_of(writer->append(std::span(entries).first(17))) == Errc::kInvalidArgument);
  }
  // The first failure is final and leaves no file.
  REQUIRE(errc_of(writer->append(fold.entries(100, 1))) == Errc::kInvalidArgument);
  REQUIRE(errc_of(writer->commit()) == Errc::kInvalidArgument);
  REQUIRE(disk.list(kSimRoot)->empty());
}

TEST_CASE("An invalid shape or sequence is refused") {
  SimDisk disk(kSimRoot, 1);
  const auto create = [&](std::uint32_t entry_bytes, Sequence sequence) {
    return CheckpointWriter::create(disk, kSimRoot, FixtureFold(entry_bytes),
                                    fixture_identity(sequence))
        .status();
  };
  REQUIRE(create(4096, kSequenceMax).ok());
  REQUIRE(errc_of(create(0, 1)) == Errc::kInvalidArgument);
  REQUIRE(errc_of(create(4097, 1)) == Errc::kInvalidArgument);
  REQUIRE(errc_of(create(16, 0)) == Errc::kInvalidArgument);
  REQUIRE(errc_of(create(16, kSequenceMax + 1)) == Errc::kInvalidArgument);
}

TEST_CASE("A writer that is not committed leaves nothing, and one that was killed is replaced") {
  const FixtureFold fold(16);
  SimDisk disk(kSimRoot, 1);
  {
    auto writer = CheckpointWriter::create(disk, kSimRoot, fold, fixture_identity(kAsOf));
    REQUIRE(writer->append(fold.entries(0, 100'000)).ok());
    REQUIRE(disk.list(kSimRoot)->size() == 1);
  }
  REQUIRE(disk.list(kSimRoot)->empty());
  const auto left = disk.open(kPath + kTemporarySuffix, {.mode = OpenMode::kCreate});
  REQUIRE(disk.write_at(*left, 0, fold.entries(0, 9)).ok());
  disk.close(*left);
  REQUIRE(write_checkpoint(disk, kSimRoot, fold, fixture_identity(kAsOf), fold.entries(0, 3)).ok());
  REQUIRE(LoadedCheckpoint::load(disk, kPath)->size() == 3);
}

}  // namespace
}  // namespace lapwing
