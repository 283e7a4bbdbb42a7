#include "lapwing/history.h"

#include <cstring>
#include <vector>

#include "lapwing/error.h"
#include "testing/bus_fixture.h"

namespace lapwing {
namespace {

History open_history(const TestBus& bus) {
  absl::StatusOr<History> opened = History::open(bus.directory());
  INFO(opened.status().ToString());
  REQUIRE(opened.ok());
  return *std::move(opened);
}

// Every record from `next` on that is there, compared with what was published; the sequence after
// it.
Sequence read_all(const TestBus& bus, History& history, Sequence next) {
  std::vector<std::byte> rows(100 * 56);
  for (;;) {
    const Batch batch = history.read(next, rows);
    if (batch.kind != Batch::Kind::kRecords) return next;
    REQUIRE(batch.first == next);
    REQUIRE(batch.row_bytes == 56);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const std::vector<std::byte> expected = bus.journal.record(next + i);
      REQUIRE(std::memcmp(rows.data() + i * 56, expected.data(), 56) == 0);
    }
    next += batch.count;
  }
}

TEST_CASE("History reads beside a publisher, as far as is archived, and goes on") {
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
  CHECK(history.read(251, rows).result == Errc::kWouldBlock);
  bus.archive(300);
  CHECK(read_all(bus, history, 251) == 301);
}

TEST_CASE("History reads what a closed session left, and the next session after it") {
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

TEST_CASE("What the journal cannot give is an event with its exact range and cause") {
  TestBus bus;
  bus.start();
  bus.publish(5000);
  bus.archive(5000);
  bus.prune_below_segment(2);
  History history = open_history(bus);
  std::vector<std::byte> rows(560);
  const Batch lost = history.read(1, rows);
  REQUIRE(lost.event.has_value());
  CHECK(lost.event->kind == ItemKind::kLost);
  CHECK(lost.event->gap.first == 1);
  CHECK(lost.event->gap.last == bus.oldest - 1);
  CHECK(lost.event->gap.cause == GapCause::kPruned);
  CHECK(read_all(bus, history, lost.event->gap.last + 1) == 5001);
}

TEST_CASE("History refuses what is no sequence, and memory that holds no record") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  bus.archive(10);
  History history = open_history(bus);
  std::vector<std::byte> rows(56);
  CHECK(history.read(0, rows).result == Errc::kInvalidArgument);
  CHECK_FALSE(history.status().ok());
  const Batch small = history.read(1, std::span(rows).first(55));
  CHECK(small.result == Errc::kTooSmall);
  CHECK(small.row_bytes == 56);
}

TEST_CASE("There is no history of a directory without a bus, or of a bus without a journal") {
  CHECK(errc_of(History::open("./nowhere").status()) == Errc::kNoBus);
  TestBus bus(/*with_journal=*/false);
  bus.start();
  CHECK(errc_of(History::open(bus.directory()).status()) == Errc::kNoJournal);
}

}  // namespace
}  // namespace lapwing
