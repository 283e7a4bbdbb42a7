// The archiver of a mirror: a session whose origin is on another host.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "os/path.h"
#include "snapshot/archive/archiver.h"
#include "snapshot/archive/segment_pool.h"
#include "snapshot/journal/sum_walk.h"
#include "snapshot/journal/time_index.h"
#include "testing/archive_fixture.h"
#include "testing/sim_disk.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kSlotsOfBlock = 64;
constexpr std::uint64_t kSlotsOfSegment = 1024;

// Record n is published at 5 n.
class TestOrigin final : public SessionOrigin {
 public:
  Sequence durable() const override { return durable_; }
  std::uint64_t published_wall_ns(Sequence n) override { return 5 * n; }
  bool is_absent(Sequence) const override { return false; }
  void set_durable(Sequence durable) { durable_ = durable; }

 private:
  Sequence durable_ = 0;
};

// A mirror's archiver on a simulated disk: 64 slots per block, 1,024 per segment and in the ring.
struct MirrorBench {
  explicit MirrorBench(std::uint64_t seed = 1, const SimBehaviour& behaviour = {})
      : disk(kSimRoot, seed),
        queue(disk, behaviour),
        session(disk, queue, {.root = kSimRoot, .origin = &origin}) {
    REQUIRE(session.begin(1, 1).ok());
  }

  Archiver& archiver() { return session.archiver(); }
  void step_often() {
    for (int i = 0; i < 1000; ++i) session.step(1);
  }
  bool archive(std::uint64_t count) {
    session.publish_all(count, 1);
    return session.step_until([&] { return archiver().archived() == session.head(); }, 10'000, 1);
  }
  bool reach_durable(Sequence through) {
    archiver().request_flush(session.head());
    return session.step_until([&] { return archiver().durable() >= through; }, 10'000, 1);
  }
  Sequence durable_by_sums() {
    const auto segments = list_segments(session.files());
    REQUIRE(segments.ok());
    const auto walk = walk_sums(session.files(), *segments, 1, session.head());
    REQUIRE(walk.ok());
    CHECK_FALSE(walk->damage.has_value());
    return walk->durable;
  }
  std::vector<TimeEntry> times(std::uint64_t segment) {
    const auto file = disk.open(numbered_path(session.directory(), segment, "idx"), {});
    REQUIRE(file.ok());
    const OpenFile owner(disk, *file);
    std::vector<TimeEntry> entries(100);
    const auto read = disk.read_at(*file, 0, std::as_writable_bytes(std::span(entries)));
    REQUIRE(read.ok());
    entries.resize(*read / sizeof(TimeEntry));
    return entries;
  }

  TestOrigin origin;
  SimDisk disk;
  SimWriteQueue queue;
  ArchiveFixture session;
};

TEST_CASE("Durable ends with a whole block if more is archived than the origin has durable") {
  MirrorBench bench;
  REQUIRE(bench.archive(200));
  bench.step_often();
  CHECK(bench.archiver().durable() == 0);
  for (const Sequence origin : {1u, 64u, 65u, 127u, 128u, 199u}) {
    bench.origin.set_durable(origin);
    bench.step_often();
    CHECK(bench.archiver().durable() == origin / kSlotsOfBlock * kSlotsOfBlock);
    CHECK(bench.durable_by_sums() == bench.archiver().durable());
  }
  bench.origin.set_durable(200);
  bench.step_often();
  CHECK(bench.archiver().durable() == 200);
  REQUIRE(bench.archive(10));
  bench.origin.set_durable(205);  // the block is fuller now, but 200 is proven already
  bench.step_often();
  CHECK(bench.archiver().durable() == 200);
}

TEST_CASE("A flush makes durable what the origin has durable, and then waits for the origin") {
  MirrorBench bench;
  REQUIRE(bench.archive(300));
  bench.origin.set_durable(130);
  CHECK(bench.reach_durable(128));
  CHECK_FALSE(bench.reach_durable(129));
  bench.origin.set_durable(300);
  CHECK(bench.reach_durable(300));
}

TEST_CASE("Whatever a power cut keeps, the sums of a mirror prove no more than the origin's") {
  std::uint64_t rounded = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    SimRandom random(seed);
    const SimBehaviour slow{.complete_percent = static_cast<unsigned>(5 + random.below(90)),
                            .reorder = true,
                            .depth = 1 + random.below(64)};
    MirrorBench bench(seed, slow);
    Sequence origin = 0;
    for (int i = 0; i < 200; ++i) {
      bench.session.publish(random.below(40));
      origin = std::min(bench.session.head(), origin + random.below(45));
      bench.origin.set_durable(origin);
      if (random.chance(10)) bench.archiver().request_flush(bench.session.head());
      bench.session.step(random.below(2));
      REQUIRE(bench.archiver().durable() <= origin);
      if (bench.archiver().archived() > origin && origin % kSlotsOfBlock != 0) ++rounded;
    }
    const Sequence announced = bench.archiver().durable();
    bench.disk.power_cut();
    bench.session.drop_archiver();
    const Sequence proven = bench.durable_by_sums();
    CHECK(proven >= announced);
    CHECK(proven <= origin);
  }
  REQUIRE(rounded > 100);
}

TEST_CASE("A mirror reserves nothing, and writes no row when it closes or fails") {
  MirrorBench bench;
  REQUIRE(bench.session.sessions().entry_count() == 1);
  CHECK(bench.archiver().limit() == bench.session.geometry().floor_block(1024));
  REQUIRE(bench.archive(10'000));
  SECTION("close") {
    bench.origin.set_durable(9000);
    CHECK(bench.session.close().ok());
    CHECK(bench.archiver().durable() == 9000 / kSlotsOfBlock * kSlotsOfBlock);
  }
  SECTION("failure") {
    bench.disk.fail(SimOp::kWrite, 1, EIO, ".jnl");
    bench.session.publish_all(kSlotsOfBlock, 1);
    bench.step_often();
    CHECK(bench.archiver().condition().state == JournalState::kFailed);
    CHECK(errc_of(bench.session.close()) == Errc::kJournalFailed);
  }
  CHECK(bench.session.sessions().entry_count() == 1);
  CHECK_FALSE(bench.session.sessions().last()->end.has_value());
}

TEST_CASE("The time index of a mirror has the origin's times") {
  MirrorBench bench;
  REQUIRE(bench.archive(kSlotsOfSegment + 100));
  bench.origin.set_durable(kSlotsOfSegment + 100);
  REQUIRE(bench.reach_durable(kSlotsOfSegment + 100));
  bench.step_often();
  for (const std::uint64_t segment : {0u, 1u}) {
    const std::vector<TimeEntry> entries = bench.times(segment);
    REQUIRE_FALSE(entries.empty());
    for (const TimeEntry& entry : entries) CHECK(entry.wall_ns == 5 * entry.sequence);
  }
  CHECK(bench.times(0).back().sequence == kSlotsOfSegment);
}

TEST_CASE("A full disk delays a mirror, and does not end its journal") {
  MirrorBench bench;
  bench.disk.set_capacity(0);
  std::uint64_t published = 0;
  for (int i = 0; i < 100'000; ++i) {
    published += bench.session.publish(64);
    bench.session.step(1);
  }
  CHECK(bench.archiver().condition().state == JournalState::kGood);
  // Three segments are prepared at the start, and the ring holds one more.
  REQUIRE(published == 4 * kSlotsOfSegment);
  REQUIRE(bench.archiver().archived() == 3 * kSlotsOfSegment);
  bench.origin.set_durable(10 * kSlotsOfSegment);
  SECTION("closed meanwhile") {
    CHECK(bench.session.close().ok());
    CHECK(bench.archiver().durable() == 3 * kSlotsOfSegment);
  }
  SECTION("continued when there is space") {
    bench.disk.set_capacity(UINT64_MAX);
    bench.session.publish_all(kSlotsOfSegment, 1);
    REQUIRE(bench.reach_durable(5 * kSlotsOfSegment));
    CHECK(bench.durable_by_sums() == 5 * kSlotsOfSegment);
  }
}

TEST_CASE("An error other than a full disk ends a mirror's journal if the segment is needed") {
  MirrorBench bench;
  bench.disk.set_capacity(0);
  bench.session.publish_all(3 * kSlotsOfSegment, 1);
  for (std::uint64_t nth = 1; nth <= 20; ++nth) bench.disk.fail(SimOp::kAllocate, nth, EIO);
  bench.disk.set_capacity(UINT64_MAX);
  for (int i = 0; i < 100'000 && bench.archiver().failure().ok(); ++i) {
    bench.session.publish(64);
    bench.session.step(1);
  }
  CHECK(bench.archiver().condition().state == JournalState::kFailed);
}

}  // namespace
}  // namespace lapwing
