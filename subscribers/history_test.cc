#include "lapwing/history.h"

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "testing/bus_fixture.h"
#include "testing/other_user.h"

namespace lapwing {
namespace {

History open_history(const TestBus& bus) {
  absl::StatusOr<History> opened = History::open(bus.directory());
  INFO(opened.status().ToString());
  REQUIRE(opened.ok());
  return *std::move(opened);
}

// Reads every available record from `next` on and compares it with the published one. Returns the
// sequence after the last one.
Sequence read_all(const TestBus& bus, History& history, Sequence next) {
  std::vector<std::byte> rows(100 * 56);
  for (;;) {
    const Result<Batch> batch = history.read(next, rows);
    if (came(batch) != ItemKind::kRecord) return next;
    REQUIRE(batch->first == next);
    REQUIRE(batch->row_bytes == 56);
    for (std::size_t i = 0; i < batch->count; ++i) {
      const std::vector<std::byte> expected = bus.journal.record(next + i);
      REQUIRE(std::memcmp(rows.data() + i * 56, expected.data(), 56) == 0);
    }
    next += batch->count;
  }
}

TEST_CASE("History lists all journals, and reads the named one") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  bus.archive(250);
  bus.fail_journal();
  bus.kill();
  REQUIRE(bus.ring->unlink().ok());
  bus.start();
  bus.publish(20);
  bus.archive(20);
  const Id128 second = bus.journal.current_journal_id();
  const auto journals = History::journals(bus.directory());
  REQUIRE(journals.ok());
  REQUIRE(journals->size() == 2);
  CHECK(journals->front().journal_id == JournalFixture::journal_id());
  CHECK(journals->front().is_discarded);
  CHECK(journals->front().durable == 250);
  CHECK(journals->back().journal_id == second);
  CHECK_FALSE(journals->back().is_discarded);
  CHECK(journals->back().durable == 20);

  History newest = open_history(bus);
  CHECK(newest.info().journal_id == second);
  CHECK(read_all(bus, newest, 1) == 21);
  auto first = History::open(bus.directory(), JournalFixture::journal_id());
  REQUIRE(first.ok());
  CHECK(first->info().is_discarded);
  CHECK(read_all(bus, *first, 1) == 251);
  std::vector<std::byte> rows(56);
  CHECK(first->read(251, rows).error() == Errc::kWouldBlock);
  CHECK(first->info().journal_id == JournalFixture::journal_id());
  CHECK(errc_of(History::open(bus.directory(), fixture_id(77)).status()) == Errc::kNotFound);
}

TEST_CASE("History stays with its journal when the bus begins another one") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  bus.archive(250);
  History history = open_history(bus);
  CHECK(read_all(bus, history, 1) == 251);
  bus.fail_journal();
  bus.kill();
  REQUIRE(bus.ring->unlink().ok());
  bus.start();
  bus.publish(400);
  bus.archive(400);
  std::vector<std::byte> rows(56);
  CHECK(history.read(251, rows).error() == Errc::kWouldBlock);
  CHECK(history.info().journal_id == JournalFixture::journal_id());
  CHECK(history.info().is_discarded);
}

TEST_CASE("History reads next to a publisher up to archived, and continues") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  bus.archive(250);
  History history = open_history(bus);
  const HistoryInfo info = history.info();
  CHECK(info.record_bytes == 56);
  CHECK(info.oldest == 1);
  CHECK(info.archived == 250);
  CHECK(info.durable == 250);
  CHECK(info.journal_id == bus.journal.current_journal_id());
  CHECK(read_all(bus, history, 1) == 251);
  std::vector<std::byte> rows(56);
  CHECK(history.read(251, rows).error() == Errc::kWouldBlock);
  bus.archive(300);
  CHECK(read_all(bus, history, 251) == 301);
}

TEST_CASE("History reads a closed session, and the next one after it") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  bus.close();
  History history = open_history(bus);
  CHECK(history.info().archived == 300);
  CHECK(read_all(bus, history, 1) == 301);
  bus.start();
  bus.publish(50);
  bus.archive(350);
  CHECK(read_all(bus, history, 301) == 351);
}

TEST_CASE("Records missing from the journal are an event with their exact range and cause") {
  TestBus bus;
  bus.start();
  bus.publish(5000);
  bus.archive(5000);
  bus.prune_below_segment(2);
  History history = open_history(bus);
  std::vector<std::byte> rows(560);
  const Result<Batch> lost = history.read(1, rows);
  REQUIRE(lost->event != nullptr);
  CHECK(lost->event->kind == EventKind::kLost);
  CHECK(lost->event->gap.first == 1);
  CHECK(lost->event->gap.last == bus.oldest - 1);
  CHECK(lost->event->gap.cause == GapCause::kPruned);
  CHECK(read_all(bus, history, lost->event->gap.last + 1) == 5001);
}

TEST_CASE("History refuses invalid sequences, and memory smaller than a record") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  bus.archive(10);
  History history = open_history(bus);
  std::vector<std::byte> rows(56);
  CHECK(history.read(0, rows).error() == Errc::kInvalidArgument);
  CHECK_FALSE(history.status().ok());
  const Result<Batch> small = history.read(1, std::span(rows).first(55));
  CHECK(small.error() == Errc::kTooSmall);
  CHECK(small->row_bytes == 56);
}

// A bus whose first segments are finished, and the number of records in a segment.
struct FinishedBus : TestBus {
  FinishedBus() {
    start();
    publish(5000);
    archive(5000);
  }
  Sequence segment_slots() const { return journal.geometry().segment_slots; }
  std::string file_of(std::uint64_t segment) const { return journal.file(segment, "jnl"); }
};

void check_mapped(const TestBus& bus, const MappedSegment& segment, Sequence first, Sequence last) {
  REQUIRE(segment.first == first);
  REQUIRE(segment.count == last - first + 1);
  REQUIRE(segment.record_bytes == 56);
  for (std::uint64_t i = 0; i < segment.count; ++i) {
    const std::vector<std::byte> expected = bus.journal.record(first + i);
    REQUIRE(segment.record(i).size() == 56);
    REQUIRE(std::memcmp(segment.record(i).data(), expected.data(), 56) == 0);
  }
}

TEST_CASE("A finished segment is mapped completely from any record of it; a growing one is not") {
  const FinishedBus bus;
  const Sequence slots = bus.segment_slots();
  REQUIRE(slots < 2500);
  History history = open_history(bus);
  for (const Sequence n : {Sequence{1}, slots / 2, slots}) {
    const auto mapped = history.map(n);
    INFO(mapped.status().ToString());
    REQUIRE(mapped.ok());
    check_mapped(bus, *mapped, 1, slots);
  }
  check_mapped(bus, *history.map(slots + 1), slots + 1, 2 * slots);
  CHECK(errc_of(history.map(5000).status()) == Errc::kWouldBlock);
  CHECK(errc_of(history.map(50'000).status()) == Errc::kWouldBlock);
  CHECK(errc_of(history.map(0).status()) == Errc::kInvalidArgument);
}

TEST_CASE("A mapped segment stays as it is when retention removes its file and History is gone") {
  FinishedBus bus;
  const Sequence slots = bus.segment_slots();
  std::optional<History> history(open_history(bus));
  const auto mapped = history->map(1);
  REQUIRE(mapped.ok());
  bus.prune_below_segment(1);
  CHECK(errc_of(history->map(1).status()) == Errc::kPruned);
  history.reset();
  REQUIRE_FALSE(std::filesystem::exists(bus.file_of(0)));
  check_mapped(bus, *mapped, 1, slots);
}

TEST_CASE("A segment that other users could change is not mapped, but read") {
  const FinishedBus bus;
  History history = open_history(bus);
  REQUIRE(history.map(1).ok());
  REQUIRE(::chmod(bus.file_of(0).c_str(), 0660) == 0);
  const absl::Status refused = history.map(1).status();
  CHECK(errc_of(refused) == Errc::kNotPermitted);
  CHECK(std::string(refused.message()).find("chmod go-w") != std::string::npos);
  CHECK(read_all(bus, history, 1) == 5001);
  if (::geteuid() != 0) LAPWING_SKIP("giving a file to another user needs root");
  REQUIRE(::chmod(bus.file_of(0).c_str(), 0644) == 0);
  REQUIRE(::chown(bus.file_of(0).c_str(), kTestUser, 0) == 0);
  CHECK(errc_of(history.map(1).status()) == Errc::kNotPermitted);
}

TEST_CASE("A segment with one wrong byte, or without its sums, is not mapped") {
  const FinishedBus bus;
  History history = open_history(bus);
  {
    std::fstream file(bus.file_of(0), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 + 100 * 64 + 30);
    file.put('\x7f');
    REQUIRE(file.good());
  }
  const absl::Status damaged = history.map(1).status();
  CHECK(errc_of(damaged) == Errc::kDamaged);
  CHECK(std::string(damaged.message()).find(bus.file_of(0)) != std::string::npos);
  std::filesystem::remove(bus.journal.file(1, "sum"));
  CHECK(errc_of(history.map(bus.segment_slots() + 1).status()) == Errc::kDamaged);
}

TEST_CASE("There is no history of a directory without a bus, or of a bus without a journal") {
  CHECK(errc_of(History::open("./nowhere").status()) == Errc::kNoBus);
  TestBus bus(/*with_journal=*/false);
  bus.start();
  CHECK(errc_of(History::open(bus.directory()).status()) == Errc::kNoJournal);
}

}  // namespace
}  // namespace lapwing
