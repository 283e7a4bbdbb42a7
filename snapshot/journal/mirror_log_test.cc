// The session log of a mirror: rows of version 3.
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>

#include "lapwing/error.h"
#include "os/posix_io.h"
#include "proto/header_checksum.h"
#include "proto/text_field.h"
#include "snapshot/journal/session_log.h"
#include "testing/sim_disk.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

Id128 id(std::uint64_t tag) {
  Id128 made;
  for (std::size_t i = 0; i < sizeof tag; ++i) {
    made.bytes[i] = static_cast<std::uint8_t>(tag >> (8 * i));
  }
  made.bytes.back() = 1;
  return made;
}

const Id128 kJournal = id(1);

SessionEntry begin_row(std::uint64_t session, Sequence first, const Id128& journal = kJournal) {
  SessionEntry row{};
  row.kind = SessionEntryKind::kBegin;
  row.journal_id = journal;
  row.session_id = id(session);
  row.first = first;
  row.record_bytes = 56;
  row.slot_bytes = 64;
  row.segment_slots = 1024;
  row.origin_row = 10 * session;
  row.origin_hash = 1000 + session;
  return row;
}

SessionEntry end_row(std::uint64_t session, Sequence last, SessionEnd how = SessionEnd::kClosed) {
  SessionEntry row{};
  row.kind = SessionEntryKind::kEnd;
  row.journal_id = kJournal;
  row.session_id = id(session);
  row.last = last;
  row.how = how;
  row.origin_row = 10 * session + 5;
  row.origin_hash = 2000 + session;
  return row;
}

// A session that ended, and an open one, of a mirror that began late.
void append_two(SessionLog& log) {
  REQUIRE(log.append(begin_row(11, 5000)).ok());
  REQUIRE(log.append(end_row(11, 5999)).ok());
  REQUIRE(log.append(begin_row(12, 6000)).ok());
}

struct Directory {
  absl::StatusOr<SessionLog> mirror() { return SessionLog::open_mirror(disk, files.path()); }
  absl::StatusOr<SessionLog> bus() { return SessionLog::open(disk, files.path()); }
  absl::StatusOr<SessionLog> read() { return SessionLog::open_read_only(disk, files.path()); }
  void fill() {
    auto log = mirror();
    REQUIRE(log.ok());
    append_two(*log);
  }
  std::string bytes(const std::string& name) const {
    std::ifstream in(files.file(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  TemporaryDirectory files{TemporaryDirectory::in_memory()};
  PosixDisk disk;
};

void append_many(SessionLog& log, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    REQUIRE(log.append(begin_row(100 + i, 5000)).ok());
    REQUIRE(log.append(end_row(100 + i, 4999)).ok());
  }
  REQUIRE(log.append(begin_row(100 + count, 5000)).ok());
}

}  // namespace

TEST_CASE("A mirror's log begins at any sequence and keeps the origin's rows by value") {
  Directory directory;
  auto log = directory.mirror();
  REQUIRE(log.ok());
  CHECK_FALSE(log->is_mirror());
  append_two(*log);
  const auto read = directory.read();
  REQUIRE(read.ok());
  CHECK(read->is_mirror());
  REQUIRE(read->sessions().size() == 2);
  const SessionRecord& ended = read->sessions()[0];
  CHECK(ended.begin.version == 3);
  CHECK(ended.first() == 5000);
  CHECK(ended.begin.origin_row == 110);
  CHECK(ended.begin.origin_hash == 1011);
  CHECK(ended.end->last == 5999);
  CHECK(ended.end->origin_row == 115);
  CHECK(ended.end->origin_hash == 2011);
  CHECK(read->last()->reserved_through == kSequenceMax);
  CHECK(read->ring_path().empty());
  CHECK(directory.bytes("sessions") == directory.bytes("sessions.copy"));
  SessionEntry row{};
  std::memcpy(&row, directory.bytes("sessions").data() + 512, sizeof row);
  CHECK(row.version == 3);
  CHECK(row.previous_hash != 0);
}

TEST_CASE("A publisher of this host cannot open a mirror's log, and changes nothing") {
  Directory directory;
  directory.fill();
  const std::string before = directory.bytes("sessions") + directory.bytes("sessions.copy");
  const absl::Status refused = directory.bus().status();
  CHECK(errc_of(refused) == Errc::kInUse);
  CHECK_THAT(std::string(refused.message()),
             Catch::Contains("the mirror of a bus on another host") &&
                 Catch::Contains("lapwing relay detach"));
  CHECK(directory.bytes("sessions") + directory.bytes("sessions.copy") == before);
  CHECK(directory.mirror().ok());
}

TEST_CASE("A mirror cannot open the log of a bus of this host") {
  Directory directory;
  SessionEntry begin = begin_row(11, 1);
  set_text(begin.ring_path, "ring");
  REQUIRE(directory.bus()->append(begin).ok());
  CHECK(errc_of(directory.mirror().status()) == Errc::kInUse);
  const auto read = directory.read();
  CHECK(read->last()->begin.version == 2);
  CHECK(read->last()->begin.origin_hash == 0);
}

TEST_CASE("A row that a mirror cannot have is refused before it is written") {
  Directory directory;
  auto log = directory.mirror();
  SessionEntry with_boot = begin_row(11, 5000);
  with_boot.boot_id = id(99);
  CHECK(errc_of(log->append(with_boot)) == Errc::kInvalidArgument);
  SessionEntry with_ring = begin_row(11, 5000);
  set_text(with_ring.ring_path, "ring");
  CHECK(errc_of(log->append(with_ring)) == Errc::kInvalidArgument);
  CHECK(errc_of(log->append(begin_row(11, 0))) == Errc::kInvalidArgument);
  REQUIRE(log->append(begin_row(11, 5000)).ok());
  CHECK(errc_of(log->append_reservation(5120)) == Errc::kInvalidArgument);
  SessionEntry own_end = end_row(11, 5500);
  own_end.origin_hash = 0;
  CHECK(errc_of(log->append(own_end)) == Errc::kInvalidArgument);
  REQUIRE(log->append(end_row(11, 5500)).ok());
  CHECK(errc_of(log->append(begin_row(12, 5502))) == Errc::kInvalidArgument);
  SessionEntry of_this_host = begin_row(12, 1, id(2));
  of_this_host.version = 2;
  CHECK(errc_of(log->append(of_this_host)) == Errc::kInvalidArgument);
  CHECK(directory.read()->entry_count() == 2);
}

TEST_CASE("A mirror keeps every end of its origin, with its void") {
  Directory directory;
  auto log = directory.mirror();
  REQUIRE(log->append(begin_row(11, 5000)).ok());
  SessionEntry cut = end_row(11, 5100, SessionEnd::kCut);
  cut.void_first = 5101;
  cut.void_last = 6016;
  REQUIRE(log->append(cut).ok());
  REQUIRE(log->append(begin_row(12, 6017)).ok());
  REQUIRE(log->append(end_row(12, 6020, SessionEnd::kFailed)).ok());
  CHECK(log->is_mirror());
  // The next journal may also begin late.
  REQUIRE(log->append(begin_row(13, 700, id(2))).ok());
  CHECK(directory.read()->sessions().size() == 3);
}

TEST_CASE("A mirror that ended its journal itself is a bus of this host again") {
  Directory directory;
  auto log = directory.mirror();
  append_two(*log);
  REQUIRE(log->append_end(SessionEnd::kFailed, 6500).ok());
  CHECK_FALSE(log->is_mirror());
  CHECK(errc_of(log->append(begin_row(13, 1, id(2)))) == Errc::kInvalidArgument);
  log = absl::UnavailableError("closed");
  CHECK(errc_of(directory.mirror().status()) == Errc::kInUse);
  auto bus = directory.bus();
  REQUIRE(bus.ok());
  REQUIRE(bus->append(begin_row(13, 1, id(2))).ok());
  CHECK(bus->last()->begin.version == 2);
  CHECK(bus->last()->begin.origin_hash == 0);
  CHECK(directory.read()->sessions().size() == 3);
}

// Releases before version 3 refuse a mirror in the same way.
TEST_CASE("A row of a later version is refused by every kind of open, and named") {
  Directory directory;
  directory.fill();
  SessionEntry row{};
  std::memcpy(&row, directory.bytes("sessions").data(), sizeof row);
  row.version = kMirrorSessionVersion + 1;
  row.checksum = checksum_of(row);
  for (const char* name : {"sessions", "sessions.copy"}) {
    std::fstream file(directory.files.file(name), std::ios::binary | std::ios::in | std::ios::out);
    file.write(reinterpret_cast<const char*>(&row), sizeof row);
  }
  for (const absl::Status& refused :
       {directory.read().status(), directory.mirror().status(), directory.bus().status()}) {
    CHECK(errc_of(refused) == Errc::kAbiMismatch);
    CHECK_THAT(std::string(refused.message()), Catch::Contains("version 4"));
  }
}

TEST_CASE("A damaged row of a mirror is damage, and one damaged copy is not") {
  Directory directory;
  directory.fill();
  const auto flip = [&](const char* name) {
    std::fstream file(directory.files.file(name), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(512 + 480);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(512 + 480);
    file.put(byte);
  };
  flip("sessions");
  REQUIRE(directory.read()->sessions()[0].end->origin_hash == 2011);
  flip("sessions.copy");
  CHECK(errc_of(directory.read().status()) == Errc::kDamaged);
}

TEST_CASE("The log of a mirror is shortened, and continued") {
  Directory directory;
  auto log = directory.mirror();
  append_many(*log, 600);
  REQUIRE(log->forget_before(550).ok());
  CHECK(log->dropped() == 1100);
  log = absl::UnavailableError("closed");
  auto again = directory.mirror();
  REQUIRE(again.ok());
  CHECK(again->sessions().size() == 51);
  REQUIRE(again->append(end_row(700, 7000)).ok());
  SessionEntry head{};
  std::memcpy(&head, directory.bytes("sessions").data(), sizeof head);
  CHECK(head.kind == SessionEntryKind::kShortened);
  CHECK(head.version == 3);
  CHECK(directory.read()->is_mirror());
}

TEST_CASE("A power cut in an append leaves a mirror's log with or without the row") {
  for (std::uint64_t cut = 0;; ++cut) {
    INFO("cut after " << cut << " operations");
    SimDisk disk("sim", cut + 1);
    auto log = SessionLog::open_mirror(disk, "sim");
    append_two(*log);
    disk.stop_after(cut);
    const bool is_through = log->append(end_row(12, 6400)).ok();
    log = absl::UnavailableError("gone");
    disk.power_cut();
    const auto after = SessionLog::open_mirror(disk, "sim");
    INFO(after.status());
    REQUIRE(after.ok());
    REQUIRE(after->sessions().size() == 2);
    if (is_through) REQUIRE(after->last()->end);
    if (after->last()->end) CHECK(after->last()->end->last == 6400);
    if (is_through) break;
  }
}

}  // namespace lapwing
