// The space that a journal's segments use on a real disk: their full size while they are being
// written, and only their records' space after a clean close.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "os/mapping.h"
#include "os/path.h"
#include "os/posix_io.h"
#include "snapshot/journal/journal_reader.h"
#include "snapshot/journal/segment_file.h"
#include "testing/archive_fixture.h"
#include "testing/skip.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kWaitNs = 5'000'000;
constexpr std::uint64_t kMebibyteSlots = 16'384;  // a MiB
// A header page and two blocks, in whatever units the file system uses for allocation.
constexpr std::uint64_t kUsedBytesMax = 256 * 1024;
constexpr JournalGeometry kGeometry{
    .slot_bytes = 64, .record_bytes = 56, .segment_slots = kMebibyteSlots};

class JournalOnDisk {
 public:
  bool can_punch_holes() {
    const std::string path = directory_.file("hole");
    const auto file = open_file(disk_, path, {.mode = OpenMode::kCreate});
    REQUIRE(file.ok());
    return errno_of(disk_.punch_hole(file->get(), 0, kPageBytes)) != EOPNOTSUPP;
  }

  // Begins session `salt` after the last record.
  absl::Status begin(std::uint8_t salt) {
    publisher_.drop_archiver();
    return publisher_.begin(salt, publisher_.head() + 1);
  }
  void publish(std::uint64_t count) {
    publisher_.publish_all(count, kWaitNs);
    publisher_.archiver().request_flush(publisher_.head());
    REQUIRE(publisher_.step_until(
        [this] { return publisher_.archiver().durable() == publisher_.head(); }, 10'000, kWaitNs));
  }
  absl::Status close() { return publisher_.close(); }
  Sequence head() const { return publisher_.head(); }

  std::string path(std::uint64_t segment) const {
    return numbered_path(publisher_.directory(), segment, "jnl");
  }
  OpenFile open(std::uint64_t segment) {
    auto file = open_file(disk_, path(segment), {});
    REQUIRE(file.ok());
    return *std::move(file);
  }
  std::uint64_t disk_bytes(std::uint64_t segment) {
    return disk_.allocated_bytes(open(segment).get()).value();
  }
  std::uint64_t size(std::uint64_t segment) { return disk_.size(open(segment).get()).value(); }
  std::vector<std::byte> content(std::uint64_t segment) {
    std::vector<std::byte> bytes(size(segment));
    REQUIRE(disk_.read_at(open(segment).get(), 0, bytes).value() == bytes.size());
    return bytes;
  }
  std::unique_ptr<JournalReader> reader() {
    auto reader = JournalReader::open(disk_, directory_.path(), ArchiveFixture::journal_id());
    REQUIRE(reader.ok());
    return *std::move(reader);
  }
  // True if this reader returns record n of session `salt`.
  bool reads(JournalReader& reader, Sequence n, std::uint64_t salt) const {
    std::vector<std::byte> record(kGeometry.record_bytes);
    std::vector<std::byte> slot(kGeometry.slot_bytes);
    fill_slot(slot.data(), n, salt, kGeometry);
    const auto run = reader.read(n, {head(), head(), 1}, record);
    REQUIRE(run.ok());
    return run->count == 1 &&
           std::memcmp(record.data(), slot.data() + kStampBytes, record.size()) == 0;
  }
  bool reads_all(Sequence first, Sequence last, std::uint64_t salt) {
    const auto from_start = reader();
    for (Sequence n = first; n <= last; ++n) {
      if (!reads(*from_start, n, salt)) return false;
    }
    return true;
  }

 private:
  TemporaryDirectory directory_;
  PosixDisk disk_;
  PosixWriteQueue queue_;
  ArchiveFixture publisher_{disk_, queue_, {.root = directory_.path(), .geometry = kGeometry}};
};

TEST_CASE("A clean close releases the reserved space of the last segment, and changes no byte") {
  JournalOnDisk journal;
  if (!journal.can_punch_holes()) LAPWING_SKIP("needs a file system that can punch holes");
  REQUIRE(journal.begin(1).ok());
  journal.publish(100);
  CHECK(journal.disk_bytes(0) >= segment_file_bytes(kGeometry));
  const std::vector<std::byte> before = journal.content(0);
  REQUIRE(journal.close().ok());
  CHECK(journal.disk_bytes(0) <= kUsedBytesMax);
  CHECK(journal.size(0) == segment_file_bytes(kGeometry));
  CHECK(journal.content(0) == before);
  CHECK(journal.reads_all(1, 100, 1));
}

TEST_CASE("A reader that has the last segment open or mapped at the close continues to read") {
  JournalOnDisk journal;
  REQUIRE(journal.begin(1).ok());
  journal.publish(100);
  const auto reader = journal.reader();
  REQUIRE(journal.reads(*reader, 1, 1));  // the file is open now
  const OpenFile file = journal.open(0);
  const auto touched = Pages::map(file.get(), segment_file_bytes(kGeometry));
  const auto untouched = Pages::map(file.get(), segment_file_bytes(kGeometry));
  REQUIRE(touched.ok());
  REQUIRE(untouched.ok());
  const std::vector<std::byte> before(touched->bytes().begin(), touched->bytes().end());
  REQUIRE(journal.close().ok());
  for (Sequence n = 1; n <= 100; ++n) REQUIRE(journal.reads(*reader, n, 1));
  // Reads every page in both mappings; none of the second's pages is loaded yet. If the file had
  // become shorter, this process would crash here.
  CHECK(std::ranges::equal(touched->bytes(), before));
  CHECK(std::ranges::equal(untouched->bytes(), before));
}

TEST_CASE("The next session reserves the released space again, and continues") {
  JournalOnDisk journal;
  REQUIRE(journal.begin(1).ok());
  journal.publish(100);
  REQUIRE(journal.close().ok());
  REQUIRE(journal.begin(2).ok());
  CHECK(journal.disk_bytes(0) >= segment_file_bytes(kGeometry));
  journal.publish(kMebibyteSlots);
  REQUIRE(journal.close().ok());
  CHECK(journal.reads_all(1, 100, 1));
  CHECK(journal.reads_all(101, kMebibyteSlots + 100, 2));
}

TEST_CASE("Only the last segment has space to release, unless it is full") {
  const std::uint64_t more = GENERATE(0u, 100u);
  JournalOnDisk journal;
  if (!journal.can_punch_holes()) LAPWING_SKIP("needs a file system that can punch holes");
  REQUIRE(journal.begin(1).ok());
  journal.publish(kMebibyteSlots + more);
  REQUIRE(journal.close().ok());
  CHECK(journal.disk_bytes(0) >= segment_file_bytes(kGeometry));
  if (more != 0) CHECK(journal.disk_bytes(1) <= kUsedBytesMax);
  CHECK(journal.reads_all(1, journal.head(), 1));
}

TEST_CASE("A session that publishes nothing releases its reserved space") {
  JournalOnDisk journal;
  if (!journal.can_punch_holes()) LAPWING_SKIP("needs a file system that can punch holes");
  REQUIRE(journal.begin(1).ok());
  journal.publish(100);
  REQUIRE(journal.close().ok());
  REQUIRE(journal.begin(2).ok());
  REQUIRE(journal.close().ok());
  CHECK(journal.disk_bytes(0) <= kUsedBytesMax);
  CHECK(journal.reads_all(1, 100, 1));
}

}  // namespace
}  // namespace lapwing
