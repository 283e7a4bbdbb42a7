// A bus reaches its last sequence. The test prepares a journal that has almost reached it.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bus/ring_reader.h"
#include "proto/text_field.h"
#include "snapshot/journal/session_log.h"
#include "testing/closing_publisher.h"
#include "testing/publisher_fixture.h"

namespace lapwing {
namespace {

// Leaves a journal that contains only a void through `last`.
void leave_void_through(const PublisherSetUp& options, Sequence last) {
  open_publisher(options);  // creates the directories
  const std::string root = options.directory + "/" + kJournalDirectoryName;
  std::filesystem::remove_all(root);
  std::filesystem::create_directory(root);
  PosixDisk disk;
  auto sessions = SessionLog::open(disk, root);
  REQUIRE(sessions.ok());
  SessionEntry begin{};
  begin.kind = SessionEntryKind::kBegin;
  begin.journal_id = random_id().value();
  begin.session_id = random_id().value();
  begin.boot_id = boot_id().value();
  begin.first = 1;
  begin.slot_bytes = slot_bytes_for(sizeof(Record));
  begin.record_bytes = sizeof(Record);
  begin.segment_slots = options.segment_bytes / begin.slot_bytes;
  set_text(begin.schema, options.schema_name);
  REQUIRE(sessions->append(begin).ok());
  SessionEntry reserve{};
  reserve.kind = SessionEntryKind::kReserve;
  reserve.journal_id = begin.journal_id;
  reserve.session_id = begin.session_id;
  reserve.through = last;
  REQUIRE(sessions->append(reserve).ok());
  SessionEntry end = reserve;
  end.kind = SessionEntryKind::kEnd;
  end.through = 0;
  end.how = SessionEnd::kCut;
  end.void_first = 1;
  end.void_last = last;
  REQUIRE(sessions->append(end).ok());
}

void publish_through(Publisher& publisher, Sequence last) {
  while (publisher.head() < last) {
    const Sequence next = publisher.head() + 1;
    const Record record = record_of(next);
    REQUIRE(*publisher.publish(std::as_bytes(std::span(record))) == next);
  }
}

constexpr Sequence kFirst = (Sequence{1} << 63) - 640 + 1;  // the first in a block of 64
constexpr Sequence kLast = kSequenceMax - 1;                // the next one still has a valid stamp

TEST_CASE("The last sequence is published, archived and read; the one after it is refused") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  leave_void_through(options, kFirst - 1);
  const auto publisher = open_publisher(options);
  REQUIRE(publisher->first() == kFirst);
  const bool batch = GENERATE(false, true);
  publish_through(*publisher, batch ? kLast - 10 : kLast);
  const std::vector<Record> records = records_from(kLast - 9, 12);
  if (batch) CHECK(!publisher->publish_batch(bytes_of(records)).ok());
  CHECK(!publisher->publish(std::as_bytes(std::span(records[11]))).ok());
  CHECK(errc_of(publisher->status()) == Errc::kLimit);
  CHECK(publisher->head() == kLast);
  CHECK(publisher->flush(Deadline::at_monotonic_ns(monotonic_ns() + kHangNs)).ok());

  const RingMap map = map_ring(options);
  const RingReader reader(map);
  Record read{};
  std::byte* const out = std::as_writable_bytes(std::span(read)).data();
  REQUIRE(reader.try_read(kLast, out).outcome == RingRead::kRecord);
  CHECK(read == record_of(kLast));
  CHECK(reader.try_read(kLast + 1, out).outcome == RingRead::kEmpty);
  CHECK(publisher->close().ok());

  const auto again = open_publisher(options);
  CHECK(again->first() == kLast + 1);
  CHECK(!again->publish(std::as_bytes(std::span(read))).ok());
  CHECK(errc_of(again->status()) == Errc::kLimit);
}

TEST_CASE("A journal that has reached the last sequence is not continued, and the error names it") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  leave_void_through(options, Sequence{1} << 63);
  const auto refused = closing(open_with_seams(options));
  REQUIRE(errc_of(refused.status()) == Errc::kLimit);
  CHECK_THAT(std::string(refused.status().message()), Catch::Contains(options.directory));
}

}  // namespace
}  // namespace lapwing
