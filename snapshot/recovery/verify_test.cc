#include "snapshot/recovery/verify.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "lapwing/error.h"
#include "os/path.h"
#include "testing/journal_fixture.h"

namespace lapwing {
namespace {

// Two sessions with a void between them, three segments with indexes. The second session is still
// running.
void build(JournalFixture& journal) {
  journal.begin(11, 1);
  journal.reserve(11, 640);
  journal.write(1, 500);
  journal.end(11, 500, SessionEnd::kCut, 640);
  journal.begin(12, 641);
  journal.reserve(12, 4096);
  journal.write(641, 2100);
  journal.write_slots(2101, 2150);
  for (Sequence n = 100; n <= 500; n += 100) journal.write_time(n, n * 10);
  for (Sequence n = 700; n <= 2100; n += 100) journal.write_time(n, n * 10);
}

VerifyReport verify(JournalFixture& journal) {
  const auto report = verify_journal(journal.disk(), journal.root());
  REQUIRE(report.ok());
  return *report;
}

}  // namespace

TEST_CASE("A valid journal is clean, and the totals show its content") {
  JournalFixture journal;
  build(journal);
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  const auto report = verify_journal(journal.disk(), journal.root(),
                                     [&](std::uint64_t so_far, std::uint64_t in_all) {
                                       REQUIRE(so_far >= done);
                                       done = so_far;
                                       total = in_all;
                                     });
  REQUIRE(report.ok());
  REQUIRE(report->is_clean());
  REQUIRE_FALSE(report->loses_records);
  REQUIRE(report->journals.size() == 1);
  const VerifiedJournal& found = report->journals[0];
  REQUIRE(found.journal_id == JournalFixture::journal_id());
  REQUIRE(found.sessions == 2);
  REQUIRE(found.segments == 3);
  REQUIRE(found.oldest == 1);
  REQUIRE(found.durable == 2100);
  REQUIRE(found.records == 1960);
  REQUIRE(found.damaged == 0);
  REQUIRE(found.voids == 1);
  REQUIRE(found.void_records == 140);
  REQUIRE(done == 1960);
  REQUIRE(total == 1960);
}

TEST_CASE("All damage is listed, each with its file, offset, sequences and remedy") {
  JournalFixture journal;
  build(journal);
  flip_bit(journal.file(0, "jnl"), journal.geometry().offset_of(70), 3);
  flip_bit(journal.file(0, "sum"), 4 * sizeof(SumEntry), 3);
  flip_bit(journal.file(1, "jnl"), 48, 3);
  flip_bit(journal.file(2, "idx"), 3,
           0);  // its only entry is the last, and may be half written
  flip_bit(journal.file(0, "idx"), 35, 0);
  flip_bit(journal.root() + "/sessions.copy", 600, 1);
  const VerifyReport report = verify(journal);
  REQUIRE(report.loses_records);
  REQUIRE(report.findings_left_off == 0);
  REQUIRE(report.findings.size() == 5);
  REQUIRE(report.journals[0].damaged == 64 + 64 + 1024);

  const auto& findings = report.findings;
  CHECK(findings[0].damage.file == journal.root() + "/sessions.copy");
  CHECK(findings[0].damage.offset == 512);
  CHECK_FALSE(findings[0].loses_records);
  CHECK(findings[1].damage.file == journal.file(0, "jnl"));
  CHECK(findings[1].damage.offset == journal.geometry().offset_of(65));
  CHECK(findings[1].damage.first == 65);
  CHECK(findings[1].damage.last == 128);
  CHECK(findings[1].loses_records);
  CHECK(findings[2].damage.first == 257);
  CHECK(findings[3].damage.first == 1025);
  CHECK(findings[3].damage.last == 2048);
  CHECK(findings[4].damage.file == journal.file(0, "idx"));
  CHECK_FALSE(findings[4].loses_records);
  for (const VerifyFinding& finding : findings) {
    CHECK_FALSE(finding.damage.what.empty());
    CHECK_FALSE(finding.remedy.empty());
  }
}

TEST_CASE("A damaged session log is a finding, and its valid rows are verified") {
  JournalFixture journal;
  build(journal);
  flip_bit(journal.root() + "/sessions", 4 * 512 + 20, 1);
  flip_bit(journal.root() + "/sessions.copy", 4 * 512 + 21, 1);
  const VerifyReport report = verify(journal);
  REQUIRE(report.loses_records);
  REQUIRE(report.findings.size() == 1);
  REQUIRE(report.findings[0].damage.offset == 4 * 512);
  REQUIRE(report.journals[0].records == 500);
}

TEST_CASE("The last sum damaged is found though nothing after it proves that it was durable") {
  JournalFixture journal;
  build(journal);
  flip_bit(journal.file(2, "sum"), 9, 0);
  const VerifyReport report = verify(journal);
  REQUIRE(report.findings.size() == 1);
  REQUIRE(report.findings[0].damage.file == journal.file(2, "sum"));
  REQUIRE(report.findings[0].loses_records);
}

TEST_CASE("Pruned segments are not damage, but a missing one is; a missing index is rebuilt") {
  JournalFixture journal;
  build(journal);
  std::filesystem::remove(journal.file(0, "jnl"));
  REQUIRE(verify(journal).loses_records);
  journal.record_retention(1);
  REQUIRE(verify(journal).is_clean());
  REQUIRE(verify(journal).journals[0].oldest == 1025);
  std::filesystem::remove(journal.file(1, "idx"));
  REQUIRE(verify(journal).findings.size() == 1);
  REQUIRE_FALSE(verify(journal).loses_records);
  std::filesystem::remove(journal.file(1, "jnl"));
  REQUIRE(verify(journal).loses_records);
  journal.record_retention(2);
  REQUIRE(verify(journal).is_clean());
  journal.prepare(0);  // it could not be unlinked
  REQUIRE(verify(journal).is_clean());
}

TEST_CASE("A journal that no session names is reported") {
  JournalFixture journal;
  build(journal);
  const std::string stray = journal.root() + "/" + fixture_id(42).hex();
  std::filesystem::create_directory(stray);
  REQUIRE(verify(journal).is_clean());
  std::filesystem::copy_file(journal.file(0, "jnl"), numbered_path(stray, 0, "jnl"));
  REQUIRE(verify(journal).findings.size() == 1);
  REQUIRE(verify(journal).findings[0].damage.file == stray);
}

TEST_CASE("Without a journal there is nothing to verify") {
  JournalFixture journal;
  REQUIRE(errc_of(verify_journal(journal.disk(), journal.root()).status()) == Errc::kNotFound);
}

TEST_CASE("A missing session log next to segments is damage with a remedy") {
  JournalFixture journal;
  journal.begin(1, 1);
  journal.reserve(1, 1024);
  journal.write(1, 100);
  for (const char* const suffix : {"", kCopySuffix}) {
    std::filesystem::remove(journal.root() + "/" + kSessionsFileName + suffix);
  }
  const auto report = verify_journal(journal.disk(), journal.root());
  REQUIRE(report.ok());
  REQUIRE(report->loses_records);
  REQUIRE(report->findings.size() == 2);  // the log, and the journal that it does not list
  for (const VerifyFinding& finding : report->findings) {
    REQUIRE(finding.remedy.find("rebuilds") != std::string::npos);
  }
}

TEST_CASE("More damage than is listed is counted") {
  JournalFixture journal;
  journal.begin(11, 1);
  journal.reserve(11, 64 * 2048);
  for (std::uint64_t segment = 0; segment < 64 * 2048 / 1024; ++segment) journal.prepare(segment);
  journal.end(11, 64 * 1500, SessionEnd::kClosed);
  const VerifyReport report = verify(journal);
  REQUIRE(report.journals[0].damaged == 64 * 1500);
  REQUIRE(report.findings.size() == kFindingsMax);
  REQUIRE(report.findings_left_off > 400);
}

}  // namespace lapwing
