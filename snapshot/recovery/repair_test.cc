#include "snapshot/recovery/repair.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <map>

#include "lapwing/error.h"
#include "snapshot/journal/journal_reader.h"
#include "testing/journal_fixture.h"
#include "testing/journal_on_sim_disk.h"
#include "testing/ring_fixture.h"

namespace lapwing {
namespace {

const Id128 kFresh = fixture_id(200);

class Root {
 public:
  Root() : lock_(ExclusiveLock::take(journal.root() + "/" + kLockFileName, 0)) {
    REQUIRE(lock_.ok());
  }

  absl::StatusOr<RepairReport> try_repair(const Id128& bus_journal = {},
                                          const Id128& bus_session = {}) {
    return repair_journal(journal.disk(), *lock_,
                          {journal.root(), JournalFixture::boot_id(), kFresh, RingFixture::none(),
                           bus_journal, bus_session});
  }
  RepairReport repair() {
    const auto report = try_repair();
    REQUIRE(report.ok());
    return *report;
  }
  absl::StatusOr<Settled> start() {
    auto sessions = SessionLog::open(journal.disk(), journal.root());
    if (!sessions.ok()) return sessions.status();
    return settle(journal.disk(), journal.root(), *sessions, JournalFixture::boot_id(),
                  RingFixture::none());
  }
  // Returns how many records a reader gets from the journal. Each must be correct.
  std::uint64_t records() {
    auto reader = JournalReader::open(journal.disk(), journal.root(), JournalFixture::journal_id());
    REQUIRE(reader.ok());
    const auto bounds = (*reader)->settled_bounds();
    std::vector<std::byte> out(56);
    std::uint64_t count = 0;
    for (Sequence n = bounds->oldest; n <= bounds->archived;) {
      const auto run = (*reader)->read(n, *bounds, out);
      REQUIRE(run.ok());
      if (!run->gap) REQUIRE(std::memcmp(out.data(), journal.record(n).data(), 56) == 0);
      count += run->count;
      n = run->gap ? run->gap_last + 1 : n + 1;
    }
    return count;
  }
  void spoil_session_entry(std::uint64_t index) const {
    flip_bit(journal.root() + "/sessions", index * 512 + 20, 1);
    flip_bit(journal.root() + "/sessions.copy", index * 512 + 21, 1);
  }

  JournalFixture journal;

 private:
  absl::StatusOr<ExclusiveLock> lock_;
};

// A session in one segment that was closed at 500.
void build_closed(JournalFixture& journal) {
  journal.begin(11, 1, 77, 0);
  journal.reserve(11, 640);
  journal.write(1, 500);
  journal.write_time(500, 5000);
  journal.end(11, 500, SessionEnd::kClosed);
}

std::map<std::string, std::string> all_files(const JournalFixture& journal) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(journal.root())) {
    if (entry.is_regular_file()) files[entry.path().string()] = file_bytes(entry.path().string());
  }
  return files;
}

}  // namespace

TEST_CASE("A valid journal is left unchanged") {
  Root root;
  build_closed(root.journal);
  const auto before = all_files(root.journal);
  const RepairReport report = root.repair();
  REQUIRE(report.done.empty());
  REQUIRE_FALSE(report.journal_ended);
  REQUIRE(report.remaining.is_clean());
  REQUIRE(all_files(root.journal) == before);
}

TEST_CASE("A damaged copy of sessions is repaired, and the journal continues") {
  Root root;
  build_closed(root.journal);
  const auto before = all_files(root.journal);
  flip_bit(root.journal.root() + "/sessions.copy", 700, 2);
  const RepairReport report = root.repair();
  REQUIRE(report.done.size() == 1);
  REQUIRE(report.remaining.is_clean());
  REQUIRE(all_files(root.journal) == before);
  REQUIRE(root.start()->next == 501);
}

TEST_CASE("An index is rebuilt from its valid entries, or from nothing") {
  Root root;
  build_closed(root.journal);
  const std::string idx = root.journal.file(0, "idx");
  root.journal.write_time(500, 6000);
  const std::string whole = file_bytes(idx);
  flip_bit(idx, 5, 1);
  REQUIRE(root.repair().remaining.is_clean());
  REQUIRE(file_bytes(idx) == whole.substr(32));
  std::filesystem::remove(idx);
  REQUIRE_FALSE(root.repair().remaining.loses_records);
  REQUIRE(std::filesystem::file_size(idx) == 0);
  REQUIRE(root.start()->next == 501);
}

TEST_CASE("Damaged records end a cleanly closed journal, and only then can a publisher start") {
  Root root;
  build_closed(root.journal);
  flip_bit(root.journal.file(0, "jnl"), root.journal.geometry().offset_of(70), 3);
  REQUIRE(errc_of(root.start().status()) == Errc::kDamaged);
  const std::string data = file_bytes(root.journal.file(0, "jnl"));
  const RepairReport report = root.repair();
  REQUIRE(report.journal_ended);
  REQUIRE(report.remaining.loses_records);
  REQUIRE(report.remaining.journals[0].damaged == 64);
  REQUIRE(report.remaining.findings[0].damage.first == 65);
  REQUIRE(root.start()->how == Settlement::kReset);
  REQUIRE(file_bytes(root.journal.file(0, "jnl")) == data);
  REQUIRE(root.records() == 500 - 64);
  const auto sessions = SessionLog::open_read_only(root.journal.disk(), root.journal.root());
  const auto source = find_source(*sessions, 77, 0);
  REQUIRE(source);
  REQUIRE(source->offset + source->records == 500);
  REQUIRE_FALSE(root.repair().journal_ended);  // one repair is enough
}

TEST_CASE("Damaged records end a journal with an open session at the last proven record") {
  Root root;
  root.journal.begin(11, 1);
  root.journal.reserve(11, 640);
  root.journal.write(1, 500);
  flip_bit(root.journal.file(0, "sum"), 2 * 16, 3);
  REQUIRE(errc_of(root.start().status()) == Errc::kDamaged);
  REQUIRE(root.repair().journal_ended);
  REQUIRE(root.start()->how == Settlement::kReset);
  const auto sessions = SessionLog::open_read_only(root.journal.disk(), root.journal.root());
  REQUIRE(sessions->last()->end->how == SessionEnd::kFailed);
  REQUIRE(sessions->last()->end->last == 500);
  REQUIRE(root.records() == 500 - 64);
}

TEST_CASE("A killed session without damage is left for the next start") {
  Root root;
  root.journal.begin(11, 1);
  root.journal.reserve(11, 640);
  root.journal.write(1, 500);
  root.journal.write_time(500, 1);
  const auto before = all_files(root.journal);
  REQUIRE(root.repair().done.empty());
  REQUIRE(all_files(root.journal) == before);
}

TEST_CASE("Old damage that does not prevent a start ends nothing") {
  Root root;
  root.journal.begin(11, 1);
  root.journal.reserve(11, 8192);
  root.journal.write(1, 2100);
  for (const Sequence n : {Sequence{100}, Sequence{1100}, Sequence{2100}}) {
    root.journal.write_time(n, n);
  }
  root.journal.end(11, 2100, SessionEnd::kClosed);
  flip_bit(root.journal.file(0, "jnl"), 5000, 3);
  const RepairReport report = root.repair();
  REQUIRE(report.done.empty());
  REQUIRE(report.remaining.loses_records);
  REQUIRE(root.start()->next == 2101);
}

TEST_CASE("A damaged session log is cut to its valid rows and set aside, and the journal ends") {
  Root root;
  build_closed(root.journal);
  root.journal.begin(12, 501);
  root.journal.reserve(12, 1280);
  root.journal.write(501, 700);
  root.journal.write_time(700, 7000);
  root.journal.end(12, 700, SessionEnd::kClosed);
  const std::uint64_t index = GENERATE(0u, 1u, 2u, 3u, 4u, 5u);
  root.spoil_session_entry(index);
  REQUIRE(errc_of(root.start().status()) == Errc::kDamaged);
  const std::string damaged = file_bytes(root.journal.root() + "/sessions");
  const RepairReport report = root.repair();
  REQUIRE(file_bytes(root.journal.root() + "/sessions.damaged-" + kFresh.hex()) == damaged);
  REQUIRE(std::filesystem::exists(root.journal.root() + "/sessions.copy.damaged-" + kFresh.hex()));
  // Sequences 501 to 700 were used for records, so no publisher may use them again.
  const auto settled = root.start();
  REQUIRE(settled.ok());
  REQUIRE(settled->journal_id.is_zero());
  REQUIRE(settled->next == 1);
  REQUIRE(report.journal_ended);
  REQUIRE(settled->how == Settlement::kReset);
  // Without the first entry, nothing lists the journal, and its segments show where it ends.
  // Without the end of session 11, its reservation, 640, limits its records.
  const std::uint64_t expected[] = {700, 0, 640, 500, 500, 700};
  REQUIRE(root.records() == expected[index]);
}

bool says(const RepairReport& report, const std::string& words) {
  return std::any_of(report.done.begin(), report.done.end(), [&](const std::string& line) {
    return line.find(words) != std::string::npos;
  });
}

// Two journals, the first of which has two sessions, a void between them, and a one-block hole.
void build_two_journals(JournalFixture& journal) {
  journal.begin(11, 1);
  journal.reserve(11, 1920);
  journal.write(1, 100);
  journal.write_time(100, 1);
  journal.end(11, 100, SessionEnd::kCut, 1920);
  journal.begin(12, 1921);
  journal.reserve(12, 4096);
  journal.write(1921, 3000);
  journal.write_time(3000, 1);
  journal.end(12, 3000, SessionEnd::kFailed);
  journal.begin_journal(fixture_id(8));
  journal.begin(13, 1);
  journal.reserve(13, 640);
  journal.write(1, 300);
  journal.write_time(300, 1);
}

void lose_session_log(const JournalFixture& journal, bool truncate) {
  for (const char* const suffix : {"", kCopySuffix}) {
    const std::string path = journal.root() + "/" + kSessionsFileName + suffix;
    if (truncate) {
      std::filesystem::resize_file(path, 0);
    } else {
      std::filesystem::remove(path);
    }
  }
}

TEST_CASE("Segments missing at the front are recorded as removed, and the journal continues") {
  Root root;
  root.journal.begin(11, 1);
  root.journal.reserve(11, 8192);
  root.journal.write(1, 5000);
  root.journal.end(11, 5000, SessionEnd::kClosed);
  for (const std::uint64_t gone : {0u, 1u}) {
    std::filesystem::remove(root.journal.file(gone, "jnl"));
  }
  REQUIRE(errc_of(root.start().status()) == Errc::kDamaged);

  SECTION("and nothing else") {
    const RepairReport report = root.repair();
    REQUIRE_FALSE(report.journal_ended);
    REQUIRE(says(report, "sequences 1 to 2048 are gone"));
    REQUIRE_FALSE(report.remaining.loses_records);
    REQUIRE(root.start()->next == 5001);
    REQUIRE(root.start()->oldest == 2049);
    REQUIRE(root.records() == 5000 - 2048);
    REQUIRE(root.repair().done.empty());  // one repair is enough
  }
  SECTION("and one in the middle: the journal is ended") {
    std::filesystem::remove(root.journal.file(3, "jnl"));
    const RepairReport report = root.repair();
    REQUIRE(report.journal_ended);
    REQUIRE(report.remaining.loses_records);
    REQUIRE(root.start()->how == Settlement::kReset);
    REQUIRE(root.records() == 5000 - 3 * 1024);
  }
}

TEST_CASE("A missing session log is rebuilt from the segments, and is not continued") {
  const bool truncate = GENERATE(false, true);
  Root root;
  build_two_journals(root.journal);
  const std::string data = file_bytes(root.journal.file(0, "jnl"));
  lose_session_log(root.journal, truncate);
  const auto refused = root.start();
  REQUIRE(errc_of(refused.status()) == Errc::kDamaged);
  REQUIRE(refused.status().message().find("lapwing repair") != std::string::npos);

  const RepairReport report = root.repair();
  REQUIRE(report.journal_ended);
  REQUIRE(says(report, "--resume"));
  REQUIRE(report.remaining.journals.size() == 2);
  const auto log = SessionLog::open_read_only(root.journal.disk(), root.journal.root());
  REQUIRE(log.ok());
  REQUIRE(log->sessions().size() == 2);
  for (const SessionRecord& session : log->sessions()) {
    REQUIRE(session.first() == 1);
    REQUIRE(session.end->how == SessionEnd::kFailed);
    const bool first = session.begin.journal_id == JournalFixture::journal_id();
    REQUIRE(session.end->last == (first ? 3000 : 300));
    REQUIRE(session.reserved_through == (first ? 3072 : 1024));
  }
  REQUIRE(root.records() == 100 + (3000 - 1920));  // the void now counts as damaged
  REQUIRE(file_bytes(root.journal.file(0, "jnl")) == data);
  REQUIRE(root.start()->how == Settlement::kReset);
  REQUIRE(root.repair().done.empty());  // one repair is enough
}

TEST_CASE("The rebuilt log of the bus's journal contains the session that readers search for") {
  Root root;
  build_two_journals(root.journal);
  lose_session_log(root.journal, false);
  const auto report = root.try_repair(fixture_id(8), fixture_id(13));
  REQUIRE(report.ok());
  const auto log = SessionLog::open_read_only(root.journal.disk(), root.journal.root());
  REQUIRE(log->find(fixture_id(13)) != nullptr);
  REQUIRE(log->find(fixture_id(13))->begin.journal_id == fixture_id(8));
}

TEST_CASE("Journals are rebuilt in the order in which their segments were created") {
  Root root;
  build_two_journals(root.journal);
  root.journal.set_created_wall_ns(fixture_id(8), 0, 1000);
  root.journal.set_created_wall_ns(JournalFixture::journal_id(), 0, 2000);
  lose_session_log(root.journal, false);
  root.repair();
  const auto log = SessionLog::open_read_only(root.journal.disk(), root.journal.root());
  REQUIRE(log->sessions().front().begin.journal_id == fixture_id(8));
  REQUIRE(log->sessions().back().begin.journal_id == JournalFixture::journal_id());
}

TEST_CASE("A hole in the sums does not hide proven records after it") {
  Root root;
  root.journal.begin(11, 1);
  root.journal.reserve(11, 4096);
  root.journal.write(1, 2100);
  const std::string zeros(16 * 4, '\0');
  put_bytes(root.journal.file(0, "sum"), 16 * 4, zeros.data(), zeros.size());  // four blocks
  std::filesystem::remove(root.journal.file(1, "sum"));
  lose_session_log(root.journal, false);
  root.repair();
  REQUIRE(root.records() == 2100 - 4 * 64 - 1024);
}

TEST_CASE("Directories that cannot be journals are skipped, and without others there is no log") {
  Root root;
  root.journal.begin(11, 1);
  root.journal.reserve(11, 4096);
  root.journal.write(1, 2100);
  root.journal.set_created_wall_ns(JournalFixture::journal_id(), 1, 5, "another");
  lose_session_log(root.journal, false);
  const auto refused = root.try_repair();
  REQUIRE(errc_of(refused.status()) == Errc::kDamaged);
  REQUIRE(refused.status().message().find("contradict each other") != std::string::npos);
  REQUIRE(errc_of(root.start().status()) == Errc::kDamaged);

  root.journal.begin_journal(fixture_id(8));
  root.journal.write(1, 300);
  const auto report = root.try_repair();
  REQUIRE(report.ok());
  REQUIRE(says(*report, "left aside"));
  REQUIRE(report->remaining.journals.size() == 1);
  REQUIRE(root.start()->how == Settlement::kReset);
}

TEST_CASE("A rebuild that is stopped at any operation prevents every start") {
  Root root;
  build_two_journals(root.journal);
  lose_session_log(root.journal, false);
  const TemporaryDirectory elsewhere;
  const auto lock = ExclusiveLock::take(elsewhere.file(kLockFileName), 0);
  std::uint64_t refusals = 0;
  for (const bool power : {false, true}) {
    for (std::uint64_t operations = 0;; ++operations) {
      const auto disk = simulate(root.journal, operations + 1);
      disk->stop_after(operations);
      RepairRequest request{root.journal.root(), JournalFixture::boot_id(), kFresh,
                            RingFixture::none()};
      const bool whole = repair_journal(*disk, *lock, request).ok();
      if (power) {
        disk->power_cut();
      } else {
        disk->kill();
      }
      auto before = SessionLog::open(*disk, root.journal.root());
      if (before.ok()) {
        REQUIRE(before->sessions().size() == 2);
        REQUIRE(before->last()->end->how == SessionEnd::kFailed);
      } else {
        REQUIRE(errc_of(before.status()) == Errc::kDamaged);
        ++refusals;
      }
      request.fresh_id = fixture_id(201);
      REQUIRE(repair_journal(*disk, *lock, request).ok());
      REQUIRE(SessionLog::open(*disk, root.journal.root())->sessions().size() == 2);
      if (whole) break;
    }
  }
  REQUIRE(refusals > 10);
}

TEST_CASE(
    "A repair that is stopped at any operation lets no publisher continue a forgotten session") {
  Root root;
  build_closed(root.journal);
  root.journal.begin(12, 501);
  root.journal.reserve(12, 1280);
  root.journal.write(501, 700);
  root.journal.end(12, 700, SessionEnd::kClosed);
  root.spoil_session_entry(3);
  const TemporaryDirectory elsewhere;
  const auto lock = ExclusiveLock::take(elsewhere.file(kLockFileName), 0);
  const auto start = [&](SimDisk& disk) -> absl::StatusOr<Settled> {
    auto sessions = SessionLog::open(disk, root.journal.root());
    if (!sessions.ok()) return sessions.status();
    return settle(disk, root.journal.root(), *sessions, JournalFixture::boot_id(),
                  RingFixture::none());
  };
  std::uint64_t refusals = 0;
  for (const bool power : {false, true}) {
    for (std::uint64_t operations = 0;; ++operations) {
      const auto disk = simulate(root.journal, operations + 1);
      disk->stop_after(operations);
      RepairRequest request{root.journal.root(), JournalFixture::boot_id(), kFresh,
                            RingFixture::none()};
      const bool whole = repair_journal(*disk, *lock, request).ok();
      if (power) {
        disk->power_cut();
      } else {
        disk->kill();
      }
      const auto before = start(*disk);
      if (before.ok()) {
        REQUIRE(before->next == 1);
        REQUIRE(before->journal_id.is_zero());
      } else {
        ++refusals;
      }
      request.fresh_id = fixture_id(201);
      REQUIRE(repair_journal(*disk, *lock, request).ok());
      const auto after = start(*disk);
      REQUIRE(after.ok());
      REQUIRE(after->how == Settlement::kReset);
      if (whole) break;
    }
  }
  REQUIRE(refusals > 10);
}

}  // namespace lapwing
