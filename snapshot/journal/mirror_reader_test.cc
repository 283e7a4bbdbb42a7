// Reading the journal of a mirror: absent ranges at the beginning, in the middle and at the end of a
// segment, and over several segments.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "lapwing/error.h"
#include "snapshot/journal/absent_ranges.h"
#include "snapshot/journal/journal_proof.h"
#include "snapshot/journal/journal_reader.h"
#include "snapshot/journal/sum_walk.h"
#include "testing/mirror_journal.h"

namespace lapwing {
namespace {

const JournalBounds kAll{MirrorJournal::kDurable, MirrorJournal::kDurable, 1};

std::unique_ptr<JournalReader> open_reader(JournalFixture& journal) {
  auto reader = JournalReader::open(journal.disk(), journal.root(), JournalFixture::journal_id());
  INFO(reader.status());
  REQUIRE(reader.ok());
  return *std::move(reader);
}

Sequence durable_of(JournalFixture& journal) {
  const auto bounds = open_reader(journal)->settled_bounds();
  REQUIRE(bounds.ok());
  CHECK(bounds->archived == bounds->durable);
  return bounds->durable;
}

struct Pass {
  std::uint64_t records = 0;
  std::vector<AbsentRange> gaps;
};

// Reads to the end of the bounds. Every record must be right, and every gap recorded.
Pass read_all(JournalReader& reader, const JournalFixture& journal, std::size_t at_once = 100,
              Sequence n = 1) {
  Pass pass;
  std::vector<std::byte> out(at_once * journal.geometry().record_bytes);
  while (n <= kAll.archived) {
    const auto run = reader.read(n, kAll, out);
    REQUIRE(run.ok());
    REQUIRE((run->count > 0) != run->gap);
    if (run->gap) {
      INFO(run->detail);
      REQUIRE(run->is_recorded);
      pass.gaps.push_back({n, run->gap_last, run->cause});
      n = run->gap_last + 1;
      continue;
    }
    for (std::uint64_t i = 0; i < run->count; ++i, ++n, ++pass.records) {
      const auto expected = journal.record(n);
      REQUIRE(std::memcmp(out.data() + i * expected.size(), expected.data(), expected.size()) == 0);
    }
  }
  return pass;
}

JournalFiles files_of(JournalFixture& journal) {
  return {&journal.disk(), journal.journal_directory(), JournalFixture::journal_id(),
          journal.geometry()};
}

}  // namespace

TEST_CASE("A mirror's records are read, and each absent range is a gap with its cause") {
  MirrorJournal journal;
  const auto reader = open_reader(journal);
  for (const std::size_t at_once : {1u, 7u, 64u, 5'000u}) {
    const Pass pass = read_all(*reader, journal, at_once);
    CHECK(pass.records == MirrorJournal::kRecords);
    CHECK(pass.gaps == MirrorJournal::absent());
  }
}

TEST_CASE("A read in an absent range returns the rest of it, and why it is absent") {
  MirrorJournal journal;
  const auto reader = open_reader(journal);
  std::vector<std::byte> out(56);
  const char* const texts[] = {"sequences 1 to 640 were removed at the origin",
                               "sequences 1170 to 1280 are damaged at the origin",
                               "sequences 1985 to 2048 did not reach this mirror",
                               "sequences 2500 to 5760 were never archived by the origin"};
  std::size_t i = 0;
  for (const AbsentRange& range : MirrorJournal::absent()) {
    for (const Sequence n : {range.first, (range.first + range.last) / 2, range.last}) {
      const auto run = reader->read(n, kAll, out);
      REQUIRE(run.ok());
      CHECK(run->gap_last == range.last);
      CHECK(run->cause == range.cause);
      CHECK_THAT(run->detail, Catch::StartsWith(texts[i]));
    }
    ++i;
  }
}

TEST_CASE("A range that is recorded while a reader is open is a gap, and before that damage") {
  MirrorJournal journal(false);
  const auto reader = open_reader(journal);
  std::vector<std::byte> out(200 * 56);
  for (const AbsentRange& range : MirrorJournal::absent()) {
    const auto before = reader->read(range.first, kAll, out);
    CHECK(before->cause == GapCause::kDamaged);
    CHECK_FALSE(before->is_recorded);
  }
  journal.list_absent();
  const Pass pass = read_all(*reader, journal);
  CHECK(pass.records == MirrorJournal::kRecords);
  CHECK(pass.gaps == MirrorJournal::absent());
}

TEST_CASE("A missing segment outside of an absent range is damage that ends with the next one") {
  MirrorJournal journal;
  std::filesystem::remove(journal.file(1, "jnl"));
  const auto reader = open_reader(journal);
  std::vector<std::byte> out(56);
  const auto run = reader->read(1'030, kAll, out);
  CHECK(run->cause == GapCause::kDamaged);
  CHECK(run->missing_file);
  CHECK(run->gap_last == 1'169);
  CHECK(reader->read(1'170, kAll, out)->is_recorded);
}

TEST_CASE("Finished segments are mapped up to the absent ranges on both sides") {
  MirrorJournal journal;
  const auto reader = open_reader(journal);
  const auto mapped = [&](Sequence n) {
    const auto run = reader->map(n, kAll);
    INFO(run.status());
    REQUIRE(run.ok());
    return std::pair(run->first, run->first + run->count - 1);
  };
  CHECK(mapped(700) == std::pair<Sequence, Sequence>(641, 1'024));
  CHECK(mapped(1'100) == std::pair<Sequence, Sequence>(1'025, 1'169));
  CHECK(mapped(1'500) == std::pair<Sequence, Sequence>(1'281, 1'984));
  CHECK(mapped(2'100) == std::pair<Sequence, Sequence>(2'049, 2'499));
  for (const Sequence n : {1u, 1'170u, 2'048u, 2'500u, 3'500u}) {
    const absl::Status absent = reader->map(n, kAll).status();
    CHECK(errc_of(absent) == Errc::kNotFound);
    CHECK_THAT(std::string(absent.message()), Catch::Contains("are absent ("));
  }
}

TEST_CASE("A search by time is never late, whether the records of that time are absent or not") {
  MirrorJournal journal;
  for (const Sequence n : {700u, 1'169u, 1'300u, 1'984u, 2'400u, 5'790u}) {
    journal.write_time(n, n * 10);
  }
  const auto reader = open_reader(journal);
  CHECK(reader->find_time(6'000, kAll).value() == 1);
  CHECK(reader->find_time(12'000, kAll).value() == 1'170);
  CHECK(reader->find_time(15'000, kAll).value() == 1'301);
  CHECK(reader->find_time(30'000, kAll).value() == 2'401);
  CHECK(reader->find_time(60'000, kAll).value() == 5'791);
}

TEST_CASE("An open session is durable as far as the sums behind its last absent range prove") {
  SECTION("records follow") {
    MirrorJournal journal;
    CHECK(durable_of(journal) == MirrorJournal::kDurable);
    journal.write(5'801, 6'144);
    CHECK(durable_of(journal) == 6'144);
    journal.write_slots(6'145, 6'200);
    CHECK(durable_of(journal) == 6'144);
  }
  SECTION("nothing follows") {
    MirrorJournal journal;
    journal.write_absent(5'801, 7'040, GapCause::kNotRelayed);
    CHECK(durable_of(journal) == 7'040);
  }
  SECTION("damaged sums before it") {
    MirrorJournal journal;
    flip_bit(journal.file(1, "sum"), 0, 3);
    CHECK(durable_of(journal) == MirrorJournal::kDurable);
  }
  SECTION("the last range is incomplete, so what is behind it is not proven") {
    MirrorJournal journal;
    for (const char* suffix : {"", ".copy"}) {
      std::filesystem::resize_file(journal.absent_file() + suffix, 4 * 32 - 1);
    }
    CHECK(durable_of(journal) == 2'499);
  }
}

TEST_CASE("The walk of a mirror's open session ends at a missing segment, without damage") {
  MirrorJournal journal;
  journal.write(5'801, 9'000);  // segments 5 to 8
  std::filesystem::remove(journal.file(7, "jnl"));
  std::filesystem::remove(journal.file(7, "sum"));
  const auto log = SessionLog::open_read_only(journal.disk(), journal.root());
  const JournalFiles files = files_of(journal);
  const auto ranges = read_absent_ranges(*log, files);
  const auto walk = walk_open_session(files, *list_retained(files), *log->last(), *ranges);
  REQUIRE(walk.ok());
  CHECK(walk->durable == 7'168);
  CHECK_FALSE(walk->damage);
}

TEST_CASE("A mirror that began late is durable from its first segment on") {
  JournalFixture journal;
  journal.is_mirror = true;
  journal.begin(11, 1);
  journal.record_retention(5);
  CHECK(durable_of(journal) == 5'120);
  journal.prepare(7);  // a finished segment that was copied ahead
  journal.write(5'121, 5'200);
  CHECK(durable_of(journal) == 5'200);
  const auto reader = open_reader(journal);
  std::vector<std::byte> out(56);
  const auto run = reader->read(100, *reader->settled_bounds(), out);
  CHECK(run->cause == GapCause::kPruned);
  CHECK(run->gap_last == 5'120);
}

TEST_CASE("A range may end with its session, and the next session shares the block") {
  MirrorJournal journal;
  journal.write_absent(5'801, 5'810, GapCause::kNotRelayed);
  journal.end(MirrorJournal::kSession, 5'810, SessionEnd::kClosed);
  journal.begin(12, 5'811);
  journal.write(5'811, 5'900);
  CHECK(durable_of(journal) == 5'900);
  const auto reader = open_reader(journal);
  const JournalBounds bounds{5'900, 5'900, 1};
  std::vector<std::byte> out(200 * 56);
  CHECK(reader->read(5'801, bounds, out)->gap_last == 5'810);
  const auto run = reader->read(5'811, bounds, out);
  CHECK(run->count == 90);
  CHECK(std::memcmp(out.data(), journal.record(5'811).data(), 56) == 0);
}

TEST_CASE("The origin's void counts where a range overlaps it") {
  MirrorJournal journal;
  journal.write_absent(5'801, 6'400, GapCause::kNotRelayed);
  journal.end(MirrorJournal::kSession, 5'900, SessionEnd::kCut, 6'144);
  const auto log = SessionLog::open_read_only(journal.disk(), journal.root());
  auto ranges = read_absent_ranges(*log, files_of(journal)).value();
  ranges.erase(ranges.begin(), ranges.begin() + 4);
  CHECK(ranges == std::vector<AbsentRange>{{5'801, 5'900, GapCause::kNotRelayed},
                                           {5'901, 6'144, GapCause::kVoid}});
  CHECK(range_from(ranges, 1)->first == 5'801);
  CHECK(range_from(ranges, 6'000)->cause == GapCause::kVoid);
  CHECK(range_from(ranges, 6'145) == nullptr);
}

TEST_CASE("The ranges of records leave out every absent range") {
  MirrorJournal journal;
  const auto log = SessionLog::open_read_only(journal.disk(), journal.root());
  const auto ranges =
      record_ranges(*log, JournalFixture::journal_id(), 5'800, MirrorJournal::absent());
  CHECK(ranges ==
        std::vector<SequenceRange>{{641, 1'169}, {1'281, 1'984}, {2'049, 2'499}, {5'761, 5'800}});
  CHECK(record_ranges(*log, JournalFixture::journal_id(), 5'000, MirrorJournal::absent()).back() ==
        SequenceRange{2'049, 2'499});
}

TEST_CASE("A list that is damaged in both copies loses only the cause of that range") {
  MirrorJournal journal;
  for (const char* suffix : {"", ".copy"}) flip_bit(journal.absent_file() + suffix, 32 + 5, 1);
  const auto reader = open_reader(journal);
  CHECK(reader->absent().size() == 3);
  CHECK(durable_of(journal) == MirrorJournal::kDurable);
  std::vector<std::byte> out(56);
  const auto run = reader->read(1'170, kAll, out);
  CHECK(run->cause == GapCause::kDamaged);
  CHECK_FALSE(run->is_recorded);
  CHECK(reader->read(1'281, kAll, out)->count == 1);
  CHECK(reader->read(1'985, kAll, out)->cause == GapCause::kNotRelayed);
}

TEST_CASE("A missing .sum file beside its segment is damage, and the walk continues") {
  MirrorJournal journal;
  journal.write(5'801, 9'000);
  std::filesystem::remove(journal.file(6, "sum"));
  CHECK(durable_of(journal) == 9'000);
}

TEST_CASE("A range that was rounded up ends with its session") {
  MirrorJournal journal;
  journal.write_absent(5'801, 5'824, GapCause::kNotRelayed);
  journal.end(MirrorJournal::kSession, 5'810, SessionEnd::kClosed);
  journal.begin(12, 5'811);
  journal.write(5'811, 5'900);
  const auto reader = open_reader(journal);
  CHECK(reader->absent().back() == AbsentRange{5'801, 5'810, GapCause::kNotRelayed});
  std::vector<std::byte> out(56);
  CHECK(reader->read(5'811, {5'900, 5'900, 1}, out)->count == 1);
}

TEST_CASE("A refreshed reader has the newest ranges") {
  MirrorJournal journal(false);
  const auto reader = open_reader(journal);
  CHECK(reader->absent().empty());
  journal.list_absent();
  REQUIRE(reader->refresh().ok());
  CHECK(std::ranges::equal(reader->absent(), MirrorJournal::absent()));
}

TEST_CASE("A file named absent in a journal of this host is not read") {
  JournalFixture journal;
  journal.session(11, 1, {640, 600, 600});
  journal.write_absent(1, 64, GapCause::kPruned);
  CHECK(open_reader(journal)->absent().empty());
}

}  // namespace lapwing
