// A mirror's sessions, records and ends on a real directory.
#include "publisher/mirror/mirror.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "bus/ring_map.h"
#include "bus/ring_reader.h"
#include "lapwing/publisher.h"
#include "snapshot/journal/absent_file.h"
#include "snapshot/journal/retention_file.h"
#include "testing/mirror_fixture.h"

namespace lapwing {
namespace {

bool is_contradiction(const absl::Status& status) {
  return errc_of(status) == Errc::kReset &&
         std::string(status.message()).starts_with("contradiction");
}

std::string ring_path(const MirrorFixture& fixture) {
  const auto bus = read_bus_description(fixture.set_up.directory);
  REQUIRE(bus.ok());
  return bus->ring_path;
}

// A mirror with an open session from sequence 1.
struct OpenMirror : MirrorFixture {
  OpenMirror() : mirror(open()) { REQUIRE(mirror->begin(begin_of(session)).ok()); }
  void reopen() {
    mirror.reset();
    mirror = open();
  }

  RelaySession session = origin_session(1, 1);
  std::unique_ptr<MirrorWriter> mirror;
};

}  // namespace

TEST_CASE("A new mirror has no session, and nothing can be given to it") {
  MirrorFixture fixture;
  const auto mirror = fixture.open();
  CHECK(mirror->sessions().empty());
  CHECK(mirror->next() == 0);
  CHECK(mirror->durable() == 0);
  CHECK(errc_of(put(*mirror, 1, 5)) == Errc::kInvalidArgument);
  CHECK(errc_of(mirror->put_absent(1, 64, GapCause::kPruned, soon())) == Errc::kInvalidArgument);
  CHECK(errc_of(mirror->end(ended(origin_session(1, 1), 5), soon())) == Errc::kInvalidArgument);
  CHECK(mirror->close(soon()).ok());
}

TEST_CASE("The records of a mirror are in the same slots of ring and journal") {
  OpenMirror bus;
  set_durable(*bus.mirror, 3000);
  REQUIRE(put(*bus.mirror, 1, 2500).ok());
  CHECK(bus.mirror->next() == 2501);
  const auto map = RingMap::attach(ring_path(bus));
  REQUIRE(map.ok());
  const RingReader reader(*map);
  CHECK(reader.head() == 2500);
  std::vector<std::byte> record(kMirrorGeometry.record_bytes);
  for (Sequence n = 2500 - kMirrorSegment + 1; n <= 2500; ++n) {
    REQUIRE(reader.try_read(n, record.data()).outcome == RingRead::kRecord);
    REQUIRE(record == origin_records(n, n));
  }
  REQUIRE(bus.mirror->flush(2500, soon()).ok());
  CHECK(bus.mirror->durable() == 2500);
  CHECK(bus.holds_all(1, 2500));
  CHECK(bus.proves(2500));
}

TEST_CASE("bus.json, the ring and the session have the origin's values") {
  OpenMirror bus;
  const auto described = read_bus_description(bus.set_up.directory);
  REQUIRE(described.ok());
  CHECK(described->name == "origin");
  CHECK(described->journal_id == origin_journal());
  CHECK(described->session_id == bus.session.session_id);
  CHECK(described->capacity == kMirrorSegment);
  REQUIRE(bus.mirror->sessions().size() == 1);
  CHECK(session_difference(bus.mirror->sessions()[0], bus.session).empty());
  const auto listed = bus.sessions();
  REQUIRE(listed.ok());
  CHECK(listed->is_mirror());
  CHECK(listed->last()->begin.boot_id.is_zero());
  CHECK(listed->last()->begin.origin_row == bus.session.begin_row);
}

TEST_CASE("A closed mirror continues its session with the next open, and writes no end") {
  OpenMirror bus;
  set_durable(*bus.mirror, 100);
  REQUIRE(put(*bus.mirror, 1, 100).ok());
  REQUIRE(bus.mirror->close(soon()).ok());
  bus.reopen();
  REQUIRE(bus.sessions()->entry_count() == 1);
  CHECK(bus.mirror->next() == 101);
  CHECK(bus.mirror->durable() == 100);
  REQUIRE(bus.mirror->begin(begin_of(bus.session)).ok());
  REQUIRE(bus.sessions()->entry_count() == 1);
  REQUIRE(put(*bus.mirror, 101, 300).ok());
  set_durable(*bus.mirror, 300);
  REQUIRE(bus.mirror->flush(300, soon()).ok());
  CHECK(bus.holds_all(1, 300));
}

TEST_CASE("Durable is never above the origin's, and what is not durable is given again") {
  OpenMirror bus;
  set_durable(*bus.mirror, 130);
  REQUIRE(put(*bus.mirror, 1, 200).ok());
  CHECK(errc_of(bus.mirror->flush(200, Deadline::now())) == Errc::kWouldBlock);
  REQUIRE(bus.mirror->flush(128, soon()).ok());
  CHECK(bus.mirror->durable() == 128);
  bus.reopen();
  CHECK(bus.mirror->next() == 129);
  for (Sequence n = 129; n <= 200; ++n) REQUIRE(bus.is_empty(n));
  CHECK(bus.holds_all(1, 128));
}

TEST_CASE("The state of a later session, whose journal is the same, does not raise durable") {
  OpenMirror bus;
  REQUIRE(put(*bus.mirror, 1, 200).ok());
  set_durable(*bus.mirror, 500, 2);
  CHECK_FALSE(bus.mirror->flush(64, std::chrono::milliseconds(50)).ok());
  CHECK(bus.mirror->durable() == 0);
  const RelaySession cut = ended(bus.session, 100, SessionEnd::kCut, 4096);
  REQUIRE(bus.mirror->begin(begin_of(cut)).ok());
  CHECK(is_contradiction(put(*bus.mirror, 201, 210)));
  REQUIRE(bus.mirror->end(cut, soon()).ok());
  for (Sequence n = 1; n <= 100; ++n) REQUIRE(bus.proves(n));
  for (Sequence n = 101; n <= 200; ++n) REQUIRE(bus.is_empty(n));
}

TEST_CASE("A dead publisher's session does not disconnect the readers of the next one") {
  OpenMirror bus;
  REQUIRE(put(*bus.mirror, 1, 10).ok());
  bus.mirror->set_origin(
      {.session_id = mirror_id(1), .head = 10, .publisher = RelayPublisherState::kDead});
  REQUIRE(bus.mirror->end(ended(bus.session, 10, SessionEnd::kRecovered), soon()).ok());
  REQUIRE(bus.mirror->begin(begin_of(origin_session(2, 11))).ok());
  CHECK(std::filesystem::exists(bus.set_up.directory + "/control.sock"));
}

TEST_CASE("A journal that has failed gets no absence") {
  OpenMirror bus;
  set_durable(*bus.mirror, 70);
  REQUIRE(put(*bus.mirror, 1, 100).ok());
  REQUIRE(bus.mirror->end(ended(bus.session, 70, SessionEnd::kFailed), soon()).ok());
  CHECK(errc_of(bus.mirror->put_absent(101, 128, GapCause::kNotRelayed, soon())) ==
        Errc::kInvalidArgument);
  CHECK(put(*bus.mirror, 101, 128).ok());
  CHECK(read_absent(bus.files())->empty());
}

TEST_CASE("An absence does not reach behind the origin's newest record") {
  OpenMirror bus;
  set_durable(*bus.mirror, 120);
  REQUIRE(put(*bus.mirror, 1, 64).ok());
  CHECK(errc_of(bus.mirror->put_absent(65, 128, GapCause::kNotRelayed, soon())) == Errc::kTimedOut);
  CHECK(read_absent(bus.files())->empty());
  set_durable(*bus.mirror, 128);
  CHECK(bus.mirror->put_absent(65, 128, GapCause::kNotRelayed, soon()).ok());
}

TEST_CASE("A cut in the block of an earlier session's absence is adopted") {
  OpenMirror bus;
  set_durable(*bus.mirror, 200);
  REQUIRE(put(*bus.mirror, 1, 70).ok());
  const RelaySession first = ended(bus.session, 90);
  REQUIRE(bus.mirror->begin(begin_of(first)).ok());
  REQUIRE(bus.mirror->put_absent(71, 90, GapCause::kDamaged, soon()).ok());
  REQUIRE(bus.mirror->end(first, soon()).ok());
  const RelaySession second = origin_session(2, 91);
  REQUIRE(bus.mirror->begin(begin_of(second)).ok());
  REQUIRE(put(*bus.mirror, 91, 120).ok());
  REQUIRE(bus.mirror->end(ended(second, 100, SessionEnd::kCut, 4096), soon()).ok());
  CHECK(bus.holds_all(91, 100));
  CHECK(bus.proves(100));
  CHECK(bus.is_empty(101));
}

TEST_CASE("Records that the mirror has are compared, in the ring and on disk") {
  OpenMirror bus;
  set_durable(*bus.mirror, 3000);
  REQUIRE(put(*bus.mirror, 1, 3000).ok());
  REQUIRE(bus.mirror->flush(3000, soon()).ok());
  CHECK(put(*bus.mirror, 1, 3010).ok());
  CHECK(bus.mirror->next() == 3011);
  const Sequence n = GENERATE(1u, 1500u, 3005u);
  auto records = origin_records(n, n + 3);
  records[60] ^= std::byte{1};
  CHECK(is_contradiction(bus.mirror->put(n, records, 1, soon())));
  CHECK(bus.mirror->next() == 3011);
  CHECK(put(*bus.mirror, 3011, 3020).ok());
}

TEST_CASE("A damaged block of the mirror is not a contradiction") {
  OpenMirror bus;
  set_durable(*bus.mirror, 3000);
  REQUIRE(put(*bus.mirror, 1, 3000).ok());
  REQUIRE(bus.mirror->flush(3000, soon()).ok());
  const auto file = open_file(bus.disk(), bus.files().path(0, "jnl"), {OpenMode::kReadWrite});
  REQUIRE(file.ok());
  const std::byte flipped[] = {std::byte{0x5a}};
  REQUIRE(bus.disk().write_at(file->get(), kMirrorGeometry.offset_of(7) + 20, flipped).ok());
  CHECK(put(*bus.mirror, 5, 10).ok());
}

TEST_CASE("Records that leave a hole or are not whole are refused") {
  OpenMirror bus;
  REQUIRE(put(*bus.mirror, 1, 10).ok());
  CHECK(errc_of(put(*bus.mirror, 12, 20)) == Errc::kInvalidArgument);
  CHECK(errc_of(put(*bus.mirror, 0, 20)) == Errc::kInvalidArgument);
  const auto records = origin_records(11, 12);
  CHECK(errc_of(bus.mirror->put(11, std::span(records).first(100), 1, soon())) ==
        Errc::kRecordSize);
  CHECK(bus.mirror->next() == 11);
}

TEST_CASE("A session ends as at the origin, and the next one follows") {
  const SessionEnd how = GENERATE(SessionEnd::kClosed, SessionEnd::kRecovered, SessionEnd::kCut);
  const Sequence void_last = how == SessionEnd::kCut ? 4096 : 0;
  OpenMirror bus;
  REQUIRE(put(*bus.mirror, 1, 90).ok());
  const RelaySession end = ended(bus.session, 90, how, void_last);
  REQUIRE(bus.mirror->end(end, soon()).ok());
  CHECK(bus.proves(90));
  CHECK(session_difference(bus.mirror->sessions()[0], end).empty());
  CHECK(bus.mirror->sessions()[0].how == how);
  CHECK(read_bus_description(bus.set_up.directory)->closed == (how == SessionEnd::kClosed));
  CHECK_FALSE(std::filesystem::exists(ring_path(bus)));
  const Sequence next = std::max<Sequence>(90, void_last) + 1;
  CHECK(bus.mirror->next() == next);
  CHECK(bus.mirror->end(end, soon()).ok());  // again
  REQUIRE(bus.mirror->begin(begin_of(origin_session(2, next))).ok());
  REQUIRE(put(*bus.mirror, next, next + 50).ok());
  CHECK(std::filesystem::exists(ring_path(bus)));
  set_durable(*bus.mirror, next + 50, 2);
  REQUIRE(bus.mirror->flush(next + 50, soon()).ok());
  CHECK(bus.holds_all(next, next + 50));
  bus.check_slots();
}

TEST_CASE("An end that does not fit the mirror is refused") {
  OpenMirror bus;
  REQUIRE(put(*bus.mirror, 1, 90).ok());
  CHECK(errc_of(bus.mirror->end(bus.session, soon())) == Errc::kInvalidArgument);
  CHECK(errc_of(bus.mirror->end(ended(bus.session, 91), soon())) == Errc::kInvalidArgument);
  CHECK(is_contradiction(bus.mirror->end(ended(bus.session, 80), soon())));
  RelaySession other = ended(bus.session, 90);
  other.source_offset = 5;
  CHECK(is_contradiction(bus.mirror->end(other, soon())));
  RelaySession unknown = ended(origin_session(9, 1), 90);
  CHECK(errc_of(bus.mirror->end(unknown, soon())) == Errc::kInvalidArgument);
  CHECK(bus.sessions()->entry_count() == 1);
  REQUIRE(bus.mirror->end(ended(bus.session, 90), soon()).ok());
  CHECK(is_contradiction(bus.mirror->end(ended(bus.session, 89), soon())));
}

TEST_CASE("A session that does not fit the mirror is refused") {
  OpenMirror bus;
  RelaySession other = bus.session;
  other.source_fingerprint = 3;
  CHECK(is_contradiction(bus.mirror->begin(begin_of(other))));
  CHECK(errc_of(bus.mirror->begin(begin_of(origin_session(2, 1)))) == Errc::kInvalidArgument);
  REQUIRE(put(*bus.mirror, 1, 90).ok());
  REQUIRE(bus.mirror->end(ended(bus.session, 90), soon()).ok());
  CHECK(errc_of(bus.mirror->begin(begin_of(bus.session))) == Errc::kInvalidArgument);
  CHECK(errc_of(bus.mirror->begin(begin_of(origin_session(2, 95)))) == Errc::kInvalidArgument);
  MirrorBegin described = begin_of(origin_session(2, 91));
  described.metadata = "DBN";
  CHECK(errc_of(bus.mirror->begin(described)) == Errc::kDamaged);
  described = begin_of(origin_session(2, 91));
  described.session.schema_hash = 5;
  CHECK(errc_of(bus.mirror->begin(described)) == Errc::kInvalidArgument);
  CHECK(bus.sessions()->entry_count() == 2);
  CHECK(bus.mirror->begin(begin_of(origin_session(2, 91))).ok());
}

TEST_CASE("If the origin was cut behind the mirror, the rest is kept aside and zeroed") {
  OpenMirror bus;
  set_durable(*bus.mirror, 100);
  REQUIRE(put(*bus.mirror, 1, 1500).ok());
  const Sequence last = GENERATE(1000u, 1024u, 1200u, 1500u);
  const Sequence void_last = 2048;
  const RelaySession end = ended(bus.session, last, SessionEnd::kCut, void_last);
  REQUIRE(bus.mirror->end(end, soon()).ok());
  CHECK(bus.holds_all(1, last));
  for (Sequence n = 1; n <= last; ++n) REQUIRE(bus.proves(n));
  for (Sequence n = last + 1; n <= 1500; ++n) REQUIRE(bus.is_empty(n));
  CHECK(bus.mirror->next() == void_last + 1);
  REQUIRE(bus.mirror->begin(begin_of(origin_session(2, void_last + 1))).ok());
  REQUIRE(put(*bus.mirror, void_last + 1, void_last + 10).ok());
}

TEST_CASE("If the origin's journal failed, records continue in the ring and not in the journal") {
  OpenMirror bus;
  set_durable(*bus.mirror, 70);
  REQUIRE(put(*bus.mirror, 1, 100).ok());
  RelaySession end = ended(bus.session, 70, SessionEnd::kFailed);
  end.sys_errno = 28;
  REQUIRE(bus.mirror->end(end, soon()).ok());
  CHECK(bus.proves(70));
  CHECK_FALSE(bus.proves(71));
  REQUIRE(put(*bus.mirror, 101, 5000).ok());
  CHECK(bus.mirror->next() == 5001);
  const auto map = RingMap::attach(ring_path(bus));
  REQUIRE(map.ok());
  CHECK(RingReader(*map).head() == 5000);
  const JournalCondition condition = load_journal_condition(map->words());
  CHECK(condition.state == JournalState::kFailed);
  CHECK(condition.sys_errno == 28);
  CHECK(errc_of(bus.mirror->flush(5000, soon())) == Errc::kJournalFailed);
  CHECK(bus.is_empty(2000));
  RelaySession next = origin_session(2, 1);
  next.journal_id = mirror_id(201);
  REQUIRE(bus.mirror->begin(begin_of(next)).ok());
  CHECK(bus.mirror->next() == 1);
  CHECK(put(*bus.mirror, 1, 10).ok());
}

TEST_CASE("Absent sequences end a ring, and the next one begins behind them") {
  OpenMirror bus;
  set_durable(*bus.mirror, 5000);
  REQUIRE(put(*bus.mirror, 1, 70).ok());
  const std::string before = ring_path(bus);
  const auto old_map = RingMap::attach(before);
  REQUIRE(old_map.ok());
  REQUIRE(bus.mirror->put_absent(71, 4096, GapCause::kPruned, soon()).ok());
  CHECK(bus.proves(70));
  CHECK(bus.mirror->next() == 4097);
  const auto absent = read_absent(bus.files());
  REQUIRE(absent.ok());
  CHECK(*absent == std::vector<AbsentRange>{{71, 4096, GapCause::kPruned}});
  REQUIRE(put(*bus.mirror, 4097, 4200).ok());
  const auto map = RingMap::attach(ring_path(bus));
  REQUIRE(map.ok());
  CHECK(map->header().session_id == bus.session.session_id);
  CHECK(RingReader(*map).head() == 4200);
  CHECK(RingReader(*map).oldest() == 4097);
  CHECK(load_head(old_map->words()) == 70);
  REQUIRE(bus.mirror->flush(4200, soon()).ok());
  CHECK(*list_segments(bus.files()) == std::vector<std::uint64_t>{0, 4, 5, 6});
  bus.reopen();
  CHECK(bus.mirror->next() == 4201);
  CHECK(bus.holds_all(4097, 4200));
  CHECK(bus.holds_all(1, 70));
}

TEST_CASE("An absence that does not continue the mirror is refused, and changes nothing") {
  OpenMirror bus;
  set_durable(*bus.mirror, 5000);
  REQUIRE(put(*bus.mirror, 1, 70).ok());
  const std::string ring = ring_path(bus);
  const auto map = RingMap::attach(ring);
  REQUIRE(map.ok());
  CHECK(errc_of(bus.mirror->put_absent(72, 128, GapCause::kPruned, soon())) ==
        Errc::kInvalidArgument);
  CHECK(errc_of(bus.mirror->put_absent(71, 100, GapCause::kPruned, soon())) ==
        Errc::kInvalidArgument);
  CHECK(errc_of(bus.mirror->put_absent(71, 70, GapCause::kPruned, soon())) ==
        Errc::kInvalidArgument);
  CHECK(read_absent(bus.files())->empty());
  REQUIRE(put(*bus.mirror, 71, 80).ok());
  CHECK(load_head(map->words()) == 80);
}

TEST_CASE("An absence waits until everything before it is durable") {
  OpenMirror bus;
  bus.mirror->set_origin({.session_id = mirror_id(1), .head = 128, .durable = 69});
  REQUIRE(put(*bus.mirror, 1, 70).ok());
  const absl::Status early = bus.mirror->put_absent(71, 128, GapCause::kPruned, Deadline::now());
  CHECK(errc_of(early) == Errc::kWouldBlock);
  CHECK(read_absent(bus.files())->empty());
  set_durable(*bus.mirror, 128);
  CHECK(bus.mirror->put_absent(71, 128, GapCause::kPruned, soon()).ok());
}

TEST_CASE("An absence may end with its session, inside a block") {
  OpenMirror bus;
  set_durable(*bus.mirror, 200);
  REQUIRE(put(*bus.mirror, 1, 70).ok());
  const RelaySession end = ended(bus.session, 90);
  REQUIRE(bus.mirror->begin(begin_of(end)).ok());  // the origin has ended it meanwhile
  REQUIRE(bus.mirror->put_absent(71, 90, GapCause::kDamaged, soon()).ok());
  REQUIRE(bus.mirror->end(end, soon()).ok());
  REQUIRE(bus.mirror->begin(begin_of(origin_session(2, 91))).ok());
  REQUIRE(put(*bus.mirror, 91, 150).ok());
  set_durable(*bus.mirror, 150, 2);
  REQUIRE(bus.mirror->flush(150, soon()).ok());
  bus.reopen();
  CHECK(bus.mirror->next() == 151);
  CHECK(bus.holds_all(91, 150));
}

TEST_CASE("A mirror may begin late, with a whole segment, and records what is pruned") {
  MirrorFixture fixture;
  auto mirror = fixture.open();
  MirrorBegin begin = begin_of(origin_session(1, 1));
  begin.oldest = 3 * kMirrorSegment + 2;
  CHECK(errc_of(mirror->begin(begin)) == Errc::kInvalidArgument);
  begin.oldest = 3 * kMirrorSegment + 1;
  REQUIRE(mirror->begin(begin).ok());
  CHECK(mirror->next() == 3 * kMirrorSegment + 1);
  CHECK(*read_retained_from(fixture.files()) == 3 * kMirrorSegment + 1);
  REQUIRE(put(*mirror, 3 * kMirrorSegment + 1, 3 * kMirrorSegment + 100).ok());
  set_durable(*mirror, 3 * kMirrorSegment + 100);
  REQUIRE(mirror->flush(3 * kMirrorSegment + 100, soon()).ok());
  mirror.reset();
  mirror = fixture.open();
  CHECK(mirror->next() == 3 * kMirrorSegment + 101);
}

TEST_CASE("A session that ended before the mirror begins gets rows, but no ring") {
  MirrorFixture fixture;
  const auto mirror = fixture.open();
  const RelaySession first = ended(origin_session(1, 1), 500);
  MirrorBegin begin = begin_of(first);
  begin.oldest = kMirrorSegment + 1;
  REQUIRE(mirror->begin(begin).ok());
  CHECK_FALSE(std::filesystem::exists(fixture.set_up.directory + "/" + kBusFileName));
  REQUIRE(mirror->end(first, soon()).ok());
  REQUIRE(mirror->begin(begin_of(origin_session(2, 501))).ok());
  CHECK(mirror->next() == kMirrorSegment + 1);
  CHECK(put(*mirror, kMirrorSegment + 1, kMirrorSegment + 9).ok());
}

TEST_CASE(
    "A publisher and a second mirror are refused while a mirror runs, and a publisher after") {
  OpenMirror bus;
  MirrorSetUp second = bus.set_up;
  second.take_over_ns = 0;
  PublisherOptions options;
  options.directory = bus.set_up.directory;
  CHECK(errc_of(open_mirror_with_seams(second).status()) == Errc::kInUse);
  CHECK(errc_of(Publisher::open(options, Deadline::now()).status()) == Errc::kInUse);
  REQUIRE(bus.mirror->close(soon()).ok());
  const auto refused = Publisher::open(options, Deadline::now());
  CHECK(errc_of(refused.status()) == Errc::kInUse);
  CHECK_THAT(std::string(refused.status().message()), Catch::Contains("mirror"));
  CHECK(open_mirror_with_seams(second).ok());
}

TEST_CASE("A mirror does not take over the bus of a publisher of this host") {
  MirrorFixture fixture;
  PublisherOptions options;
  options.directory = fixture.set_up.directory;
  {
    auto publisher = Publisher::open(options);
    REQUIRE(publisher.ok());
    REQUIRE(publisher->close().ok());
  }
  CHECK(errc_of(fixture.try_open().status()) == Errc::kInUse);
  CHECK(Publisher::open(options).ok());
}

TEST_CASE("If the origin's publisher is dead, the readers are disconnected, and records continue") {
  OpenMirror bus;
  REQUIRE(put(*bus.mirror, 1, 10).ok());
  const std::string socket = bus.set_up.directory + "/control.sock";
  CHECK(std::filesystem::exists(socket));
  MirrorOrigin dead{.session_id = mirror_id(1), .head = 10, .durable = 10};
  dead.publisher = RelayPublisherState::kDead;
  bus.mirror->set_origin(dead);
  CHECK_FALSE(std::filesystem::exists(socket));
  REQUIRE(put(*bus.mirror, 11, 20).ok());
  REQUIRE(bus.mirror->end(ended(bus.session, 20, SessionEnd::kRecovered), soon()).ok());
  CHECK(bus.holds_all(1, 20));
}

}  // namespace lapwing
