// What a mirror does after a kill, with damage, and with a disk that is full or fails.
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "bus/control/client.h"
#include "lapwing/schema.h"
#include "os/kernel.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/absent_file.h"
#include "snapshot/journal/time_index.h"
#include "snapshot/schema/kept_schemas.h"
#include "snapshot/schema/known_schemas.h"
#include "testing/mirror_fixture.h"
#include "testing/waiting_child.h"

namespace lapwing {
namespace {

const RelaySession& first_session() {
  static const RelaySession session = origin_session(1, 1);
  return session;
}

std::unique_ptr<MirrorWriter> open_begun(MirrorFixture& fixture) {
  auto mirror = fixture.open();
  REQUIRE(mirror->begin(begin_of(first_session())).ok());
  return mirror;
}

// Changes a byte of record n on disk.
void damage(MirrorFixture& fixture, Sequence n) {
  const std::string path = fixture.files().path(kMirrorGeometry.segment_of(n), "jnl");
  const auto file = open_file(fixture.disk(), path, {OpenMode::kReadWrite});
  REQUIRE(file.ok());
  const std::byte flipped[] = {static_cast<std::byte>(~fixture.slot(n)[20])};
  REQUIRE(fixture.disk().write_at(file->get(), kMirrorGeometry.offset_of(n) + 20, flipped).ok());
}

// A session of `last` durable records. Not ended.
void mirror_durably(MirrorFixture& fixture, Sequence last) {
  const auto mirror = open_begun(fixture);
  set_durable(*mirror, last);
  REQUIRE(put(*mirror, 1, last).ok());
  REQUIRE(mirror->close(soon()).ok());
}

std::size_t rings_in(const std::string& directory) {
  std::size_t rings = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".ring") ++rings;
  }
  return rings;
}

}  // namespace

TEST_CASE("The row of a session is synced before its ring has a name") {
  MirrorFixture fixture(1);
  bool has_ring = true;
  fixture.set_up.on_step = [&](const char* step) {
    if (std::string(step) != "make-ring") return;
    has_ring = rings_in(fixture.set_up.directory) > 0;
    fixture.sim().stop_after(0);
  };
  auto mirror = fixture.open();
  CHECK_FALSE(mirror->begin(begin_of(first_session())).ok());
  CHECK_FALSE(has_ring);
  REQUIRE(fixture.sim().stopped());
  mirror.reset();
  fixture.sim().power_cut();
  const auto listed = fixture.sessions();
  REQUIRE(listed.ok());
  REQUIRE(listed->sessions().size() == 1);
}

TEST_CASE("A killed mirror leaves a ring, which the next one removes and does not recover") {
  MirrorFixture fixture;
  WaitingChild child([&] {
    auto mirror = fixture.try_open();
    if (!mirror.ok() || !(*mirror)->begin(begin_of(first_session())).ok()) return false;
    set_durable(**mirror, 200);
    const bool done = put(**mirror, 1, 200).ok() && (*mirror)->flush(200, soon()).ok() &&
                      put(**mirror, 201, 300).ok();
    mirror->release();
    return done;
  });
  CHECK(errc_of(fixture.try_open().status()) == Errc::kInUse);
  child.kill();
  REQUIRE(rings_in(fixture.set_up.directory) == 1);
  const auto mirror = fixture.open();
  CHECK(rings_in(fixture.set_up.directory) == 0);
  CHECK(mirror->next() == 201);
  CHECK(fixture.sessions()->entry_count() == 1);
  CHECK(fixture.holds_all(1, 200));
  for (Sequence n = 201; n <= 300; ++n) REQUIRE(fixture.is_empty(n));
  REQUIRE(mirror->begin(begin_of(first_session())).ok());
  CHECK(put(*mirror, 201, 300).ok());
}

TEST_CASE("A mirror continues before damage in its last block, which would get a new sum") {
  MirrorFixture fixture;
  mirror_durably(fixture, 200);
  damage(fixture, 195);
  auto mirror = fixture.open();
  CHECK(fixture.has_logged("damaged"));
  CHECK(mirror->next() == 193);
  REQUIRE(mirror->begin(begin_of(first_session())).ok());
  REQUIRE(put(*mirror, 193, 250).ok());
  set_durable(*mirror, 250);
  REQUIRE(mirror->flush(250, soon()).ok());
  CHECK(fixture.holds_all(1, 250));
}

TEST_CASE("Damage before the last block stays, to be mended") {
  MirrorFixture fixture;
  mirror_durably(fixture, 200);
  damage(fixture, 10);
  const auto mirror = fixture.open();
  CHECK(mirror->next() == 201);
  CHECK_FALSE(fixture.proves(10));
}

TEST_CASE("A mirror does not continue behind damage of an earlier session in the same block") {
  MirrorFixture fixture;
  {
    const auto mirror = open_begun(fixture);
    REQUIRE(put(*mirror, 1, 90).ok());
    REQUIRE(mirror->end(ended(first_session(), 90), soon()).ok());
    REQUIRE(mirror->begin(begin_of(origin_session(2, 91))).ok());
  }
  damage(fixture, 80);
  const absl::Status refused = fixture.try_open().status();
  CHECK(errc_of(refused) == Errc::kDamaged);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("--mend"));
}

TEST_CASE("A full disk makes put() wait, and the mirror continues when there is space") {
  MirrorFixture fixture(1);
  const auto mirror = open_begun(fixture);
  set_durable(*mirror, 100 * kMirrorSegment);
  fixture.sim().set_capacity(0);
  // Three segments were prepared, and the ring holds one more.
  constexpr Sequence kFits = 4 * kMirrorSegment;
  while (mirror->next() <= kFits) REQUIRE(put(*mirror, mirror->next(), mirror->next()).ok());
  const auto records = origin_records(kFits + 1, 2 * kFits);
  const absl::Status full = mirror->put(kFits + 1, records, 1, Deadline::now());
  CHECK(errc_of(full) == Errc::kWouldBlock);
  CHECK(mirror->next() == kFits + 1);
  fixture.sim().set_capacity(UINT64_MAX);
  REQUIRE(put(*mirror, kFits + 1, 2 * kFits).ok());
  REQUIRE(mirror->flush(2 * kFits, soon()).ok());
  CHECK(fixture.holds_all(1, 2 * kFits));
}

TEST_CASE("A session that cannot begin because the disk is full begins later") {
  MirrorFixture fixture(1);
  const auto mirror = fixture.open();
  fixture.sim().set_capacity(0);
  CHECK(errc_of(mirror->begin(begin_of(first_session()))) == Errc::kNoSpace);
  CHECK(errc_of(mirror->begin(begin_of(first_session()))) == Errc::kNoSpace);
  fixture.sim().set_capacity(UINT64_MAX);
  REQUIRE(mirror->begin(begin_of(first_session())).ok());
  CHECK(put(*mirror, 1, 10).ok());
}

TEST_CASE("After a failed write or sync the mirror stops, and has written no end") {
  const SimOp op = GENERATE(SimOp::kWrite, SimOp::kSync);
  MirrorFixture fixture(1);
  auto mirror = open_begun(fixture);
  set_durable(*mirror, 10'000);
  REQUIRE(put(*mirror, 1, 100).ok());
  REQUIRE(mirror->flush(100, soon()).ok());
  fixture.sim().fail(op, 1, EIO, ".jnl");
  put(*mirror, 101, 500).IgnoreError();
  CHECK(errc_of(mirror->flush(mirror->next() - 1, soon())) == Errc::kJournalFailed);
  const Sequence next = mirror->next();
  CHECK(errc_of(put(*mirror, next, next + 3000)) == Errc::kJournalFailed);
  CHECK(errc_of(mirror->close(soon())) == Errc::kJournalFailed);
  CHECK(fixture.sessions()->entry_count() == 1);
  mirror.reset();
  mirror = fixture.open();
  CHECK(mirror->next() >= 101);
}

TEST_CASE("After a failed sync of an absence, its sequences get no records") {
  MirrorFixture fixture(1);
  const auto mirror = open_begun(fixture);
  set_durable(*mirror, 10'000);
  REQUIRE(put(*mirror, 1, 100).ok());
  fixture.sim().fail(SimOp::kSync, 1, EIO, kAbsentFileName);
  CHECK_FALSE(mirror->put_absent(101, 128, GapCause::kPruned, soon()).ok());
  CHECK(errc_of(put(*mirror, 101, 110)) == Errc::kJournalFailed);
  CHECK(errc_of(mirror->put_absent(101, 128, GapCause::kPruned, soon())) == Errc::kJournalFailed);
}

TEST_CASE("The time index of a mirror has the times that were given with the records") {
  MirrorFixture fixture;
  mirror_durably(fixture, 3000);
  const auto file = open_file(fixture.disk(), fixture.files().path(2, "idx"), {OpenMode::kRead});
  REQUIRE(file.ok());
  const auto newest = newest_time_entry(fixture.disk(), file->get(), origin_journal());
  REQUIRE(newest.ok());
  REQUIRE(newest->has_value());
  CHECK((*newest)->sequence == 3000);
  CHECK((*newest)->wall_ns == origin_time(3000));
}

TEST_CASE("A session keeps its description and its metadata with the journal") {
  MirrorFixture fixture;
  const Schema schema = *known_schema("dbn.mbo");
  REQUIRE(schema.record_bytes == kMirrorGeometry.record_bytes);
  MirrorBegin begin = begin_of(first_session());
  begin.description = schema.text();
  begin.session.schema_hash = schema.hash();
  set_text(begin.session.schema, schema.name);
  begin.metadata = "DBN metadata";
  begin.session.metadata_hash = metadata_hash_of(begin.metadata);
  const auto mirror = fixture.open();
  const absl::Status begun = mirror->begin(begin);
  INFO(begun);
  REQUIRE(begun.ok());
  const auto kept = read_kept_schema(fixture.disk(), fixture.journal_root(), schema.hash());
  REQUIRE(kept.ok());
  CHECK(kept->text() == schema.text());
  const auto listed = fixture.sessions();
  const auto metadata =
      read_kept_metadata(fixture.disk(), fixture.journal_root(), listed->last()->begin);
  REQUIRE(metadata.ok());
  CHECK(*metadata == begin.metadata);
  const auto bus = read_bus_description(fixture.set_up.directory);
  CHECK(bus->schema == schema.name);
  CHECK(bus->description == schema.text());
  begin.description += " ";
  begin.session.session_id = mirror_id(9);
  CHECK(errc_of(mirror->begin(begin)) == Errc::kDamaged);
}

TEST_CASE("A reader's flush is passed on to the owner of the mirror") {
  MirrorFixture fixture;
  std::atomic<Sequence> wanted = 0;
  fixture.set_up.on_flush_wanted = [&](Sequence through) { wanted = through; };
  const auto mirror = open_begun(fixture);
  REQUIRE(put(*mirror, 1, 10).ok());
  const std::uint64_t until_ns = monotonic_ns() + kMirrorHangNs;
  auto client = ControlClient::connect(
      {.path = fixture.set_up.directory + "/control.sock", .name = "reader"}, until_ns);
  REQUIRE(client.ok());
  REQUIRE(client->begin_flush(10).ok());
  while (wanted.load() != 10 && monotonic_ns() < until_ns) std::this_thread::yield();
  CHECK(wanted.load() == 10);
}

}  // namespace lapwing
