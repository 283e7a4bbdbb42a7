#include "subscribers/stream.h"

#include <catch2/catch.hpp>
#include <utility>

#include "testing/attached_bus.h"

namespace lapwing {
namespace {

// Reads the ring from record 1 on. All published records belong to the backlog.
struct Streamed : AttachedBus {
  explicit Streamed(std::uint64_t published, std::vector<std::string> instruments = {})
      : AttachedBus(published), options(bus.options()) {
    options.instruments = std::move(instruments);
    stream.emplace(options, cursor);
    stream->attach(std::move(attachment));
    stream->backlog.begin(published);
    begun = stream->begin_history(1);
    cursor.phase = Phase::kLive;
    stream->renew_due();
  }
  SubscriberOptions options;
  ReadCursor cursor;
  std::optional<Stream> stream;
  absl::Status begun;
};

TEST_CASE("No record is read while an event is due, and afterwards up to the end of the backlog") {
  Streamed streamed(10);
  REQUIRE(streamed.begun.ok());
  const ReadCursor& cursor = streamed.cursor;
  CHECK(cursor.due == 11);
  CHECK(cursor.attention == 11);
  streamed.stream->post(EventKind::kStale, 0);
  streamed.stream->post(EventKind::kLive, 0);
  CHECK(cursor.attention == 0);
  const Due stale = streamed.stream->take_event();
  CHECK(stale.event == EventKind::kStale);
  CHECK(cursor.attention == 0);
  streamed.stream->put_back(stale);
  CHECK(streamed.stream->take_event().event == EventKind::kStale);
  CHECK(streamed.stream->take_event().event == EventKind::kLive);
  CHECK(cursor.attention == 11);
}

TEST_CASE("The upkeep is due within a long backlog, but never in a phase that reads nothing") {
  Streamed streamed(0);
  streamed.stream->backlog.put_off();
  streamed.stream->renew_due();
  CHECK(streamed.cursor.attention == 1 + kUpkeepRecords);
  streamed.cursor.phase = Phase::kSnapshot;
  streamed.stream->renew_due();
  CHECK(streamed.cursor.attention == 0);
}

TEST_CASE("With a filter, the read path gets no record, but stays open") {
  Streamed streamed(10, {"id:1"});
  CHECK_FALSE(streamed.begun.ok());  // bytes have no instrument
  CHECK(streamed.cursor.due == 11);
  CHECK(streamed.cursor.attention == 1);
  streamed.cursor.open(0);
  CHECK(streamed.cursor.limit != 0);
  CHECK_FALSE(streamed.cursor.is_live());
}

TEST_CASE("The position stays before a gap until its event is taken") {
  Streamed streamed(10);
  streamed.cursor.next = 8;
  streamed.stream->post(EventKind::kLost, 5, "", {5, 7, 8, GapCause::kPruned, false});
  CHECK(streamed.stream->position().sequence == 4);
  streamed.stream->take_event();
  CHECK(streamed.stream->position().sequence == 7);
}

TEST_CASE("The position is the previous one until a reset is taken") {
  Streamed streamed(10);
  const StoredPosition before{fixture_id(1), fixture_id(2), 77};
  streamed.stream->before_beginning = before;
  streamed.stream->post(EventKind::kReset, 1);
  CHECK(streamed.stream->position() == before);
  streamed.stream->take_event();
  CHECK(streamed.stream->position().journal_id == streamed.stream->trail.journal_id());
  CHECK(streamed.stream->position().sequence == 0);
}

TEST_CASE("A session that is detached leaves its identity and its durable sequence") {
  Streamed streamed(10);
  Stream& stream = *streamed.stream;
  streamed.bus.archive(7);
  CHECK(stream.durable() == 7);
  CHECK(stream.head() == 10);
  const Id128 session = stream.session_id;
  stream.detach();
  CHECK(streamed.cursor.phase == Phase::kSeeking);
  CHECK(stream.durable() == 7);
  CHECK(stream.head() == kNoSequence);
  CHECK(stream.session_id == session);
  CHECK(stream.current_session() == session);
  CHECK(stream.records.record_bytes == 56);
}

TEST_CASE("A range may be filled from the journal, or from what the archiver will still write") {
  Streamed streamed(3000);
  TestBus& bus = streamed.bus;
  const Stream& stream = *streamed.stream;
  const Sequence archived = bus.archived();
  REQUIRE(archived < 3000);
  CHECK(stream.may_be_filled(1, archived, GapCause::kDamaged));
  CHECK(stream.may_be_filled(1, 3000, GapCause::kLapped));
  CHECK_FALSE(stream.may_be_filled(1, 3000, GapCause::kDamaged));
  bus.fail_journal();
  CHECK_FALSE(stream.may_be_filled(1, 3000, GapCause::kLapped));
  bus.prune_below_segment(1);
  CHECK_FALSE(stream.may_be_filled(1, archived, GapCause::kLapped));
}

TEST_CASE("Missing records are not a loss for an oldest start until the first record") {
  Streamed streamed(10);
  CHECK(streamed.stream->begins_with_oldest());
  streamed.cursor.count(1);
  CHECK_FALSE(streamed.stream->begins_with_oldest());
}

}  // namespace
}  // namespace lapwing
