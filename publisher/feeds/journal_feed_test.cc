#include "publisher/feeds/journal_feed.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "lapwing/error.h"
#include "publisher/feeds/resume.h"
#include "snapshot/bus_directory.h"
#include "testing/dbn_files.h"
#include "testing/journal_fixture.h"
#include "testing/mirror_journal.h"

namespace lapwing {
namespace {

std::unique_ptr<Feed> open_journal(const std::string& directory, bool batch_by_burst = false) {
  auto feed = open_feed("journal:" + directory, {.batch_by_burst = batch_by_burst});
  if (!feed.ok()) FAIL(feed.status());
  return *std::move(feed);
}

std::string play_journal(Feed& feed) {
  std::string out;
  for (;;) {
    const auto batch = feed.next();
    if (!batch.ok()) FAIL(batch.status());
    if (batch->records.empty()) return out;
    REQUIRE(batch->records.size() <= kFeedBatchMax * feed.description().record_bytes);
    out.append(reinterpret_cast<const char*>(batch->records.data()), batch->records.size());
  }
}

std::string records(const JournalFixture& journal, Sequence first, Sequence last) {
  std::string out;
  for (Sequence n = first; n <= last; ++n) {
    const auto record = journal.record(n);
    out.append(reinterpret_cast<const char*>(record.data()), record.size());
  }
  return out;
}

// Records 1 to 1,500, a void up to 2,048, records 2,049 to 2,100.
void write_two_sessions(JournalFixture& journal) {
  journal.begin(11, 1);
  journal.reserve(11, 2'048);
  journal.write(1, 1'500);
  journal.end(11, 1'500, SessionEnd::kCut, 2'048);
  journal.begin(12, 2'049);
  journal.reserve(12, 4'096);
  journal.write(2'049, 2'100);
  journal.end(12, 2'100, SessionEnd::kClosed);
}

}  // namespace

TEST_CASE("A journal is replayed from its first record to its last, any number of times") {
  JournalFixture journal;
  journal.begin(11, 1);
  journal.reserve(11, 4'096);
  journal.write(1, 2'500);
  journal.end(11, 2'500, SessionEnd::kClosed);
  const auto feed = open_journal(journal.root());
  CHECK(feed->description().schema == "bytes");
  CHECK(feed->description().record_bytes == 56);
  CHECK(feed->description().source_id != 0);
  CHECK(feed->total() == 2'500);
  CHECK((play_journal(*feed) == records(journal, 1, 2'500)));
  REQUIRE(feed->rewind().ok());
  CHECK((play_journal(*feed) == records(journal, 1, 2'500)));
}

TEST_CASE("A void and a pruned beginning are skipped") {
  JournalFixture journal;
  write_two_sessions(journal);
  const auto whole = open_journal(journal.root());
  CHECK(whole->total() == 1'500 + 52);
  CHECK((play_journal(*whole) == records(journal, 1, 1'500) + records(journal, 2'049, 2'100)));

  journal.retain_from_segment(1);
  const auto pruned = open_journal(journal.root());
  CHECK(pruned->total() == 1'500 - 1'024 + 52);
  CHECK((play_journal(*pruned) == records(journal, 1'025, 1'500) + records(journal, 2'049, 2'100)));
}

TEST_CASE("The journal of a mirror is replayed without what its origin does not have") {
  MirrorJournal journal;
  const auto feed = open_journal(journal.root());
  CHECK(feed->total() == MirrorJournal::kRecords);
  CHECK_THAT(feed->description().remark, Catch::Contains("lacks 4076 records"));
  CHECK((play_journal(*feed) == records(journal, 641, 1'169) + records(journal, 1'281, 1'984) +
                                    records(journal, 2'049, 2'499) +
                                    records(journal, 5'761, 5'800)));
  const std::vector<std::byte> last = journal.record(1'351);
  const auto resumed = feed->resume({.records = 600, .last_record = last}, nullptr, {});
  INFO(resumed.status());
  REQUIRE(resumed.ok());
  CHECK(resumed->position == 1'351);
}

TEST_CASE("A journal is continued by sequences, over voids and after retention has moved") {
  JournalFixture journal;
  write_two_sessions(journal);
  const std::uint64_t fingerprint = *open_journal(journal.root())->fingerprint();
  const auto resume = [&](const ResumePoint& point, Feed& feed) {
    const auto resumed = feed.resume(point, nullptr, {});
    INFO(resumed.status());
    REQUIRE(resumed.ok());
    return *resumed;
  };
  SECTION("inside a session") {
    const auto feed = open_journal(journal.root());
    const std::vector<std::byte> last = journal.record(700);
    CHECK(resume({.records = 700, .last_record = last}, *feed).position == 700);
    CHECK((play_journal(*feed) == records(journal, 701, 1'500) + records(journal, 2'049, 2'100)));
  }
  SECTION("behind a void") {
    const auto feed = open_journal(journal.root());
    const std::vector<std::byte> last = journal.record(2'058);
    const ResumePoint point{.offset = 1'024, .records = 486, .last_record = last};
    CHECK(resume(point, *feed).position == 2'058);
    CHECK(play_journal(*feed) == records(journal, 2'059, 2'100));
  }
  SECTION("with another record at that place") {
    const auto feed = open_journal(journal.root());
    const std::vector<std::byte> last = journal.record(701);
    const auto resumed = feed->resume({.records = 700, .last_record = last}, nullptr, {});
    CHECK(errc_of(resumed.status()) == Errc::kInvalidArgument);
  }
  SECTION("beyond its end") {
    const auto feed = open_journal(journal.root());
    CHECK_FALSE(feed->resume({.records = 1'500 + 53}, nullptr, {}).ok());
  }
  SECTION("after retention removed what was to come: that is lost, and reported") {
    journal.retain_from_segment(1);
    const auto feed = open_journal(journal.root());
    CHECK(*feed->fingerprint() == fingerprint);
    CHECK(feed->first_position() == 1'024);
    const ResumedFeed resumed = resume({.records = 700}, *feed);
    CHECK(resumed.position == 1'024);
    CHECK(resumed.lost_first == 701);
    CHECK(resumed.lost_last == 1'024);
    CHECK((play_journal(*feed) == records(journal, 1'025, 1'500) + records(journal, 2'049, 2'100)));
  }
}

TEST_CASE("Records that retention removes before they are published are an error") {
  JournalFixture journal;
  journal.begin(11, 1);
  journal.reserve(11, 2'048);
  journal.write(1, 2'048);
  journal.end(11, 2'048, SessionEnd::kClosed);
  const auto feed = open_journal(journal.root());
  journal.retain_from_segment(1);
  const auto batch = feed->next();
  REQUIRE(errc_of(batch.status()) == Errc::kPruned);
  CHECK(batch.status().message().find("1 to 1024") != std::string::npos);
}

TEST_CASE("Damage ends the feed after every record before the damaged block") {
  JournalFixture journal;
  journal.begin(11, 1);
  journal.reserve(11, 4'096);
  journal.write(1, 500);
  journal.end(11, 500, SessionEnd::kClosed);
  flip_bit(journal.file(0, "jnl"), 4'096 + 200 * 64 + 20, 3);  // in block 3: records 193 to 256
  const auto feed = open_journal(journal.root());
  std::string out;
  absl::Status end;
  while (end.ok()) {
    const auto batch = feed->next();
    end = batch.status();
    if (!end.ok()) break;
    REQUIRE_FALSE(batch->records.empty());
    out.append(reinterpret_cast<const char*>(batch->records.data()), batch->records.size());
  }
  CHECK(errc_of(end) == Errc::kDamaged);
  CHECK((out == records(journal, 1, 192)));
}

TEST_CASE("Batches of DBN records end with their burst and carry its time") {
  JournalFixture journal;
  journal.begin(11, 1, 0, 0, dbn::kSchemaMbo);
  journal.reserve(11, 4'096);
  journal.write(1, 100);
  for (Sequence n = 1; n <= 100; ++n) {  // bursts of ten, 2 µs apart
    dbn::MboMsg record = mbo_record(n);
    record.ts_recv = 1'000'000 + (n - 1) / 10 * 2'000 + n;
    put_bytes(journal.file(0, "jnl"), 4'096 + (n - 1) * 64 + 8, &record, sizeof record);
  }
  journal.write_sums(1, 100);
  journal.end(11, 100, SessionEnd::kClosed);
  const auto feed = open_journal(journal.root(), true);
  for (std::uint64_t burst = 0; burst < 10; ++burst) {
    const auto batch = feed->next();
    REQUIRE(batch.ok());
    CHECK(batch->records.size() == 10 * sizeof(dbn::MboMsg));
    CHECK(batch->time_ns == 1'000'000 + burst * 2'000 + burst * 10 + 1);
  }
  CHECK(feed->next()->records.empty());
}

TEST_CASE("A bus directory leads to its journal, whose newest session gives the feed's metadata") {
  JournalFixture journal;
  journal.metadata = mbo_metadata();
  journal.begin(11, 1);
  journal.reserve(11, 4'096);
  journal.write(1, 10);
  journal.end(11, 10, SessionEnd::kClosed);
  const TemporaryDirectory bus;
  BusDescription description;
  description.name = "es";
  description.schema = "bytes";
  description.journal_root = journal.root();
  description.journal_id = JournalFixture::journal_id();
  description.record_bytes = 56;
  description.slot_bytes = 64;
  description.capacity = 1'024;
  description.closed = true;
  REQUIRE(write_bus_description(bus.path(), description, std::nullopt).ok());
  REQUIRE(write_feed_metadata(bus.path(), "of another journal", std::nullopt).ok());
  const auto feed = open_journal(bus.path());
  CHECK(feed->description().metadata == mbo_metadata());
  CHECK(feed->description().remark.empty());
  CHECK((play_journal(*feed) == records(journal, 1, 10)));
  CHECK(feed->description().source_id == open_journal(journal.root())->description().source_id);

  description.journal_root.clear();
  description.journal_id = {};
  REQUIRE(write_bus_description(bus.path(), description, std::nullopt).ok());
  CHECK(errc_of(open_feed("journal:" + bus.path(), {}).status()) == Errc::kNoJournal);
}

TEST_CASE("A journal of feeds with different metadata uses the newest, and reports it") {
  JournalFixture journal;
  for (const std::uint8_t session : std::vector<std::uint8_t>{11, 12}) {
    journal.metadata = session == 11 ? "of the first feed" : mbo_metadata();
    const Sequence first = session == 11 ? 1 : 11;
    journal.begin(session, first);
    journal.reserve(session, session == 11 ? 4'096 : 8'192);
    journal.write(first, first + 9);
    journal.end(session, first + 9, SessionEnd::kClosed);
  }
  const auto feed = open_journal(journal.root());
  CHECK(feed->description().metadata == mbo_metadata());
  CHECK(feed->description().remark.find("feeds with different metadata") != std::string::npos);
}

TEST_CASE("A path that is not a journal is refused with the valid forms") {
  const TemporaryDirectory empty;
  const auto none = open_feed("journal:" + empty.path(), {});
  CHECK(errc_of(none.status()) == Errc::kNotFound);
  CHECK(std::string(none.status().message()).find("bus directory") != std::string::npos);
  CHECK(errc_of(open_feed("journal:" + empty.file("missing"), {}).status()) == Errc::kNotFound);
}

}  // namespace lapwing
