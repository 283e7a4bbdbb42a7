// `verify`, `repair` and a publisher's start on the journal of a mirror.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "lapwing/error.h"
#include "os/exclusive_lock.h"
#include "snapshot/bus_directory.h"
#include "snapshot/recovery/repair.h"
#include "snapshot/recovery/verify.h"
#include "testing/mirror_journal.h"
#include "testing/ring_fixture.h"

namespace lapwing {
namespace {

VerifyReport verify(JournalFixture& journal) {
  const auto report = verify_journal(journal.disk(), journal.root(), nullptr,
                                     {JournalFixture::boot_id(), RingFixture::none()});
  REQUIRE(report.ok());
  return *report;
}

}  // namespace

TEST_CASE("A mirror is clean, and the totals show what its origin does not have") {
  MirrorJournal journal;
  for (const std::uint64_t segment : {0u, 1u, 2u, 5u}) {
    const Sequence last = std::min<Sequence>((segment + 1) * 1'024, 5'790);
    journal.write_time(last, last);
  }
  const VerifyReport report = verify(journal);
  for (const VerifyFinding& finding : report.findings) UNSCOPED_INFO(finding.damage.text());
  CHECK(report.is_clean());
  const VerifiedJournal& found = report.journals.at(0);
  CHECK(found.records == MirrorJournal::kRecords);
  CHECK(found.durable == MirrorJournal::kDurable);
  CHECK(found.segments == 4);
  CHECK(found.absent == 4);
  CHECK(found.absent_records == 640 + 111 + 64 + 3'261);
  CHECK(found.voids == 0);
}

TEST_CASE("Damage of a mirror is found, and is to be restored from the origin") {
  MirrorJournal journal;
  flip_bit(journal.file(1, "jnl"), journal.geometry().offset_of(1'300), 3);
  const VerifyReport report = verify(journal);
  REQUIRE_FALSE(report.is_clean());
  CHECK(report.journals.at(0).damaged == 64);
  for (const VerifyFinding& finding : report.findings) {
    CHECK(finding.remedy.find("lapwing repair") == std::string::npos);
    const bool is_fetched = finding.remedy.find("relay check --mend") != std::string::npos;
    CHECK(is_fetched == finding.loses_records);
  }
}

TEST_CASE("A damaged list of absent ranges, or a directory in its place, is found") {
  MirrorJournal journal;
  const int how = GENERATE(0, 1, 2);
  for (const char* suffix : {"", ".copy"}) {
    const std::string path = journal.absent_file() + suffix;
    if (how == 0) flip_bit(path, 32 + 3, 1);
    if (how == 1 && *suffix == '\0') flip_bit(path, 32 + 3, 1);
    if (how == 2 && *suffix == '\0') {
      std::filesystem::remove(path);
      std::filesystem::create_directory(path);
    }
  }
  const VerifyReport report = verify(journal);
  const bool is_found = std::ranges::any_of(report.findings, [&](const VerifyFinding& finding) {
    return finding.damage.file == journal.absent_file();
  });
  CHECK(is_found);
  CHECK(report.loses_records == (how == 0));
}

TEST_CASE("A publisher's start and `repair` refuse a mirror, and change nothing") {
  MirrorJournal journal;
  flip_bit(journal.root() + "/sessions", 20, 1);  // a copy that `repair` would heal
  std::filesystem::remove(journal.file(0, "idx"));
  const std::string before = file_bytes(journal.root() + "/sessions");
  const absl::Status start = SessionLog::open(journal.disk(), journal.root()).status();
  CHECK(errc_of(start) == Errc::kInUse);
  CHECK_THAT(std::string(start.message()), Catch::Contains("the mirror of a bus on another host"));
  const auto lock = ExclusiveLock::take(journal.root() + "/" + kLockFileName, 0);
  REQUIRE(lock.ok());
  const absl::Status repaired = repair_journal(journal.disk(), *lock,
                                               {journal.root(), JournalFixture::boot_id(),
                                                fixture_id(200), RingFixture::none()})
                                    .status();
  CHECK(errc_of(repaired) == Errc::kInUse);
  CHECK_THAT(std::string(repaired.message()), Catch::Contains("lapwing relay check --mend"));
  CHECK(file_bytes(journal.root() + "/sessions") == before);
  CHECK_FALSE(std::filesystem::exists(journal.file(0, "idx")));
}

}  // namespace lapwing
