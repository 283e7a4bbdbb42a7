#include "snapshot/journal/retention_file.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "lapwing/error.h"
#include "testing/journal_fixture.h"

namespace lapwing {
namespace {

JournalFiles files_of(JournalFixture& journal) {
  return {&journal.disk(), journal.journal_directory(), JournalFixture::journal_id(),
          journal.geometry()};
}

Sequence oldest(JournalFixture& journal) {
  const auto retained = list_retained(files_of(journal));
  REQUIRE(retained.ok());
  return retained->oldest;
}

// Segments 0 to 4. Retention has recorded that it keeps those from `recorded` on.
void build_retained(JournalFixture& journal, std::uint64_t recorded) {
  for (std::uint64_t segment = 0; segment < 5; ++segment) journal.prepare(segment);
  journal.record_retention(recorded);
}

void remove_segment(const JournalFixture& journal, std::uint64_t segment) {
  std::filesystem::remove(journal.file(segment, "jnl"));
}

}  // namespace

TEST_CASE("Without the file nothing was removed, whatever segments are missing") {
  JournalFixture journal;
  build_retained(journal, 0);
  std::filesystem::remove(journal.retention_file());
  remove_segment(journal, 0);
  CHECK(read_retained_from(files_of(journal)).value() == 1);
  const auto retained = list_retained(files_of(journal));
  CHECK(retained->oldest == 1);
  CHECK(retained->segments == std::vector<std::uint64_t>{1, 2, 3, 4});
}

TEST_CASE("The record of retention is valid whether more or fewer segments exist") {
  JournalFixture journal;
  build_retained(journal, 2);
  CHECK(oldest(journal) == 1);  // recorded, but killed before anything was unlinked
  remove_segment(journal, 0);
  CHECK(oldest(journal) == 1025);
  remove_segment(journal, 1);
  CHECK(oldest(journal) == 2049);
  remove_segment(journal, 2);  // by another process
  CHECK(oldest(journal) == 2049);
  journal.prepare(0);  // could not be unlinked
  const auto retained = list_retained(files_of(journal));
  CHECK(retained->oldest == 2049);
  CHECK(retained->segments == std::vector<std::uint64_t>{3, 4});
}

TEST_CASE("One damaged copy loses nothing; two are like a missing file") {
  JournalFixture journal;
  build_retained(journal, 2);
  journal.retain_from_segment(2);
  for (const std::uint64_t offset : {0u, 5u, 8u, 24u, 100u, 503u, 504u, 511u}) {
    for (const std::uint64_t copy : {0u, 512u}) {
      flip_bit(journal.retention_file(), copy + offset, 3);
      CHECK(oldest(journal) == 2049);
      flip_bit(journal.retention_file(), 512 - copy + offset, 3);
      CHECK(oldest(journal) == 1);
      journal.record_retention(2);
    }
  }
}

TEST_CASE("An entry of another journal, or without the beginning of a segment, is ignored") {
  JournalFixture journal;
  build_retained(journal, 2);
  JournalFiles files = files_of(journal);
  files.journal_id = fixture_id(8);
  CHECK(read_retained_from(files).value() == 1);
  files = files_of(journal);
  files.geometry.segment_slots = 4096;
  CHECK(read_retained_from(files).value() == 1);
}

TEST_CASE("Something other than a file in its place is ignored") {
  JournalFixture journal;
  build_retained(journal, 0);
  std::filesystem::remove(journal.retention_file());
  std::filesystem::create_symlink("/dev/zero", journal.retention_file());
  CHECK(read_retained_from(files_of(journal)).value() == 1);
  CHECK(errc_of(RetentionFile::open(files_of(journal)).status()) == Errc::kNotALapwingFile);
}

TEST_CASE("It is created by the first reading, never decreases, and is read back") {
  JournalFixture journal;
  {
    auto file = RetentionFile::open(files_of(journal));
    REQUIRE(file.ok());
    CHECK(file->oldest() == 1);
    REQUIRE(file->write(3073).ok());
    REQUIRE(file->write(1025).ok());
    CHECK_FALSE(file->is_lost());
    CHECK(RetentionFile::open(files_of(journal))->oldest() == 3073);
    const std::string written = file_bytes(journal.retention_file());
    journal.record_retention(3);
    CHECK(file_bytes(journal.retention_file()) == written);
    std::filesystem::remove(journal.retention_file());
    CHECK(file->is_lost());
  }
  CHECK(RetentionFile::open(files_of(journal))->oldest() == 1);
}

}  // namespace lapwing
