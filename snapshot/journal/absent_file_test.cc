#include "snapshot/journal/absent_file.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "lapwing/error.h"
#include "testing/journal_fixture.h"
#include "testing/sim_disk.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kRow = 32;

const std::vector<AbsentRange> kRanges = {{1, 640, GapCause::kPruned},
                                          {1000, 1024, GapCause::kDamaged},
                                          {1025, 4096, GapCause::kNotRelayed},
                                          {5000, 5003, GapCause::kUpstream}};

// Blocks of 64 slots. The last range ends with its session.
absl::Status append_all(absl::StatusOr<AbsentFile>& file) {
  absl::Status status;
  for (const AbsentRange& range : kRanges) {
    if (status.ok()) status = file->append(range, range.last == 5003 ? 5003 : kSequenceMax);
  }
  return status;
}

class Journal {
 public:
  JournalFiles files() {
    return {&fixture.disk(), fixture.journal_directory(), JournalFixture::journal_id(),
            fixture.geometry()};
  }
  std::string path(int copy = 0) const {
    return fixture.journal_directory() + (copy == 0 ? "/absent" : "/absent.copy");
  }
  absl::StatusOr<AbsentFile> open() { return AbsentFile::open(files()); }
  void fill() {
    auto file = open();
    REQUIRE(append_all(file).ok());
  }
  std::uint64_t bytes() const { return std::filesystem::file_size(path()); }
  void cut(std::uint64_t bytes) const {
    for (const int copy : {0, 1}) std::filesystem::resize_file(path(copy), bytes);
  }
  void flip(std::uint64_t offset) const {
    for (const int copy : {0, 1}) flip_bit(path(copy), offset, 3);
  }
  void put(std::uint64_t offset, const void* bytes) const {
    for (const int copy : {0, 1}) put_bytes(path(copy), offset, bytes, kRow);
  }

  JournalFixture fixture;
};

}  // namespace

TEST_CASE("A journal without the file has no absent ranges") {
  Journal journal;
  CHECK(read_absent(journal.files())->empty());
  CHECK(journal.open()->ranges().empty());
  CHECK_FALSE(std::filesystem::exists(journal.path()));
}

TEST_CASE("Appended ranges are read back, as the format describes them") {
  Journal journal;
  journal.fill();
  CHECK(read_absent(journal.files()).value() == kRanges);
  CHECK(journal.open()->ranges() == kRanges);
  REQUIRE(journal.bytes() == 4 * kRow);
  AbsentEntry row{};
  const std::string bytes = file_bytes(journal.path());
  std::memcpy(&row, bytes.data() + kRow, sizeof row);
  CHECK(row.first == 1000);
  CHECK(row.last == 1024);
  CHECK(row.cause == GapCause::kDamaged);
  std::uint64_t seed;
  std::memcpy(&seed, JournalFixture::journal_id().bytes.data(), sizeof seed);
  CHECK(row.check == XXH3_64bits_withSeed(&row, 24, seed));
}

TEST_CASE("A range that cannot follow is refused, and nothing is written") {
  Journal journal;
  auto file = journal.open();
  REQUIRE(file->append({641, 1280, GapCause::kPruned}).ok());
  const AbsentRange wrong[] = {
      {1, 640, GapCause::kPruned},          {1280, 1344, GapCause::kPruned},
      {1345, 1344, GapCause::kPruned},      {1281, 1300, GapCause::kPruned},
      {1281, 1344, GapCause::kVoid},        {1281, 1344, GapCause::kLapped},
      {1281, UINT64_MAX, GapCause::kPruned}};
  for (const AbsentRange& range : wrong) {
    INFO(range.first << " to " << range.last);
    CHECK(errc_of(file->append(range)) == Errc::kInvalidArgument);
  }
  CHECK(errc_of(file->append({1281, 1344, GapCause::kPruned}, 1340)) == Errc::kInvalidArgument);
  CHECK(errc_of(file->append({1281, 1300, GapCause::kPruned}, 1301)) == Errc::kInvalidArgument);
  CHECK(journal.bytes() == kRow);
  CHECK(file->append({1281, 1300, GapCause::kPruned}, 1300).ok());
}

TEST_CASE("A last row that is cut or invalid is ignored, and then overwritten") {
  Journal journal;
  journal.fill();
  const bool is_cut = GENERATE(true, false);
  const std::uint64_t where = GENERATE(0u, 1u, 8u, 16u, 23u, 24u, 31u);
  if (is_cut) {
    journal.cut(3 * kRow + where);
  } else {
    journal.flip(3 * kRow + where);
  }
  auto file = journal.open();
  REQUIRE(file.ok());
  CHECK(file->ranges() == std::vector(kRanges.begin(), kRanges.end() - 1));
  CHECK(read_absent(journal.files())->size() == 3);
  REQUIRE(file->append({6000, 6400, GapCause::kPruned}).ok());
  CHECK(journal.bytes() == 4 * kRow);
  CHECK(read_absent(journal.files())->back() == AbsentRange{6000, 6400, GapCause::kPruned});
}

TEST_CASE("A damaged row before the last one is damage that names file and offset") {
  Journal journal;
  journal.fill();
  const std::uint64_t row = GENERATE(0u, 1u, 2u);
  const std::uint64_t byte = GENERATE(0u, 15u, 16u, 23u, 24u, 31u);
  journal.flip(row * kRow + byte);
  const absl::Status read = read_absent(journal.files()).status();
  CHECK(errc_of(read) == Errc::kDamaged);
  CHECK_THAT(std::string(read.message()),
             Catch::Contains(journal.path() + " at offset " + std::to_string(row * kRow)));
  CHECK(errc_of(journal.open().status()) == Errc::kDamaged);
  std::vector<AbsentRange> others = kRanges;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(row));
  CHECK(inspect_absent(journal.files())->ranges == others);
}

TEST_CASE("An entry that is damaged or missing in one file loses nothing, and is restored") {
  Journal journal;
  journal.fill();
  const int copy = GENERATE(0, 1);
  const std::uint64_t row = GENERATE(0u, 1u, 3u);
  const int how = GENERATE(0, 1, 2);
  if (how == 0) flip_bit(journal.path(copy), row * kRow + 9, 3);
  if (how == 1) std::filesystem::resize_file(journal.path(copy), row * kRow);
  if (how == 2) std::filesystem::remove(journal.path(copy));
  CHECK(read_absent(journal.files()).value() == kRanges);
  CHECK(inspect_absent(journal.files())->copy_defects.size() == (how == 0   ? 1
                                                                 : how == 1 ? 4 - row
                                                                            : 4));
  CHECK(journal.open()->ranges() == kRanges);
  CHECK(file_bytes(journal.path(0)) == file_bytes(journal.path(1)));
  CHECK(journal.bytes() == 4 * kRow);
}

TEST_CASE("Two valid entries that contradict each other are damage") {
  Journal journal;
  journal.fill();
  Journal other;
  auto file = other.open();
  REQUIRE(file->append({1, 704, GapCause::kPruned}).ok());
  const std::string row = file_bytes(other.path());
  put_bytes(journal.path(1), 0, row.data(), kRow);
  CHECK_THAT(std::string(read_absent(journal.files()).status().message()),
             Catch::Contains("contradict"));
}

TEST_CASE("Rows that are out of order are damage, even the last one") {
  Journal journal;
  journal.fill();
  std::string bytes = file_bytes(journal.path());
  const std::string second = bytes.substr(kRow, kRow);
  journal.put(3 * kRow, second.data());
  const absl::Status read = read_absent(journal.files()).status();
  CHECK(errc_of(read) == Errc::kDamaged);
  CHECK_THAT(std::string(read.message()), Catch::Contains("1000 to 1024"));
}

TEST_CASE("A row of another journal is not valid") {
  Journal journal;
  journal.fill();
  JournalFiles other = journal.files();
  other.journal_id = fixture_id(8);
  CHECK(errc_of(read_absent(other).status()) == Errc::kDamaged);
}

TEST_CASE("A cause of a later release is reported as not relayed") {
  Journal journal;
  journal.fill();
  AbsentEntry row{4160, 4224, static_cast<GapCause>(99), 0, 0};
  std::uint64_t seed;
  std::memcpy(&seed, JournalFixture::journal_id().bytes.data(), sizeof seed);
  row.check = XXH3_64bits_withSeed(&row, 24, seed);
  journal.put(3 * kRow, &row);
  CHECK(read_absent(journal.files())->back() == AbsentRange{4160, 4224, GapCause::kNotRelayed});
}

TEST_CASE("A file of more rows than a journal can have is refused") {
  Journal journal;
  journal.fill();
  journal.cut((kAbsentRowsMax + 1) * kRow);
  CHECK(errc_of(read_absent(journal.files()).status()) == Errc::kLimit);
}

TEST_CASE("A file that was removed or replaced is lost") {
  Journal journal;
  auto file = journal.open();
  CHECK_FALSE(file->is_lost());
  REQUIRE(append_all(file).ok());
  CHECK_FALSE(file->is_lost());
  std::filesystem::remove(journal.path());
  CHECK(file->is_lost());
}

TEST_CASE("An append on a full disk can be repeated, and one after a failed sync cannot") {
  SimDisk disk(kSimRoot, 1);
  const JournalFiles files{&disk, kSimRoot, fixture_id(7), {64, 56, 1024}};
  auto file = AbsentFile::open(files);
  disk.fail(SimOp::kWrite, 1, ENOSPC, "absent");
  CHECK(errc_of(file->append(kRanges[0])) == Errc::kNoSpace);
  REQUIRE(file->append(kRanges[0]).ok());
  disk.fail(SimOp::kSync, 1, EIO, "absent");
  CHECK_FALSE(file->append(kRanges[1]).ok());
  CHECK_FALSE(file->append(kRanges[1]).ok());
  CHECK(file->ranges().size() == 1);
}

TEST_CASE("A power cut at any operation keeps every range whose append returned") {
  for (std::uint64_t cut = 0;; ++cut) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      INFO("cut after " << cut << " operations, seed " << seed);
      SimDisk disk(kSimRoot, 1 + seed);
      const JournalFiles files{&disk, kSimRoot, fixture_id(7), {64, 56, 1024}};
      std::size_t kept = 0;
      bool is_through = false;
      {
        auto file = AbsentFile::open(files);
        disk.stop_after(cut);
        is_through = append_all(file).ok();
        kept = file->ranges().size();
      }
      disk.power_cut();
      auto after = AbsentFile::open(files);
      INFO(after.status());
      REQUIRE(after.ok());
      const std::vector<AbsentRange> found = after->ranges();
      REQUIRE(found.size() >= kept);
      REQUIRE(found == std::vector(kRanges.begin(),
                                   kRanges.begin() + static_cast<std::ptrdiff_t>(found.size())));
      // What was found is synced: another cut does not lose it.
      after = AbsentFile::open(files);
      disk.power_cut();
      REQUIRE(AbsentFile::open(files)->ranges().size() == found.size());
      if (is_through && seed == 19) return;
    }
  }
}

TEST_CASE("A range that a killed writer left unsynced is synced before it counts") {
  SimDisk disk(kSimRoot, 3);
  const JournalFiles files{&disk, kSimRoot, fixture_id(7), {64, 56, 1024}};
  {
    auto file = AbsentFile::open(files);
    REQUIRE(file->append(kRanges[0]).ok());
    disk.stop_after(1);  // the write, without its sync
    CHECK_FALSE(file->append(kRanges[1]).ok());
  }
  disk.kill();
  REQUIRE(AbsentFile::open(files)->ranges().size() == 2);
  disk.power_cut();
  CHECK(AbsentFile::open(files)->ranges().size() == 2);
}

}  // namespace lapwing
