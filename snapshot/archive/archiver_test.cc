#include "snapshot/archive/archiver.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "os/path.h"
#include "snapshot/archive/segment_pool.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/sum_file.h"
#include "snapshot/journal/sum_walk.h"
#include "snapshot/journal/time_index.h"
#include "testing/archive_fixture.h"
#include "testing/sim_disk.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kBlockSlots = 64;
constexpr std::uint64_t kSegmentSlots = 1024;

// A simulated disk with a publisher: 64 slots per block, and 1,024 per segment and per ring.
struct Bench {
  explicit Bench(std::uint64_t seed = 1, const SimBehaviour& behaviour = {},
                 ArchiveFixture::Options options = {.root = kSimRoot})
      : disk(kSimRoot, seed), queue(disk, behaviour), publisher(disk, queue, options) {}

  Archiver& archiver() { return publisher.archiver(); }
  JournalFiles files() {
    return {&disk, publisher.directory(), ArchiveFixture::journal_id(), publisher.geometry()};
  }
  std::string path(std::uint64_t segment, const char* suffix) {
    return numbered_path(publisher.directory(), segment, suffix);
  }
  template <typename T>
  std::vector<T> read(const std::string& path, std::uint64_t offset, std::size_t count) {
    std::vector<T> items(count);
    const auto file = disk.open(path, {});
    REQUIRE(file.ok());
    const OpenFile owner(disk, *file);
    const auto bytes = std::as_writable_bytes(std::span(items));
    REQUIRE(*disk.read_at(*file, offset, bytes) == bytes.size());
    return items;
  }
  std::vector<std::byte> block(std::uint64_t number) {
    const JournalGeometry& geometry = publisher.geometry();
    const Sequence first = geometry.block_first(number);
    return read<std::byte>(path(geometry.segment_of(first), "jnl"), geometry.offset_of(first),
                           kPageBytes);
  }
  SumEntry sum(std::uint64_t number) {
    const JournalGeometry& geometry = publisher.geometry();
    const std::uint64_t segment = geometry.segment_of(geometry.block_first(number));
    return read<SumEntry>(path(segment, "sum"), sum_offset(geometry, number), 1)[0];
  }
  // True if the journal's files contain exactly records first … last of session `salt`, at their
  // positions.
  bool holds_all(Sequence first, Sequence last, std::uint64_t salt) {
    const JournalGeometry& geometry = publisher.geometry();
    std::vector<std::byte> expected(geometry.slot_bytes);
    std::vector<std::byte> there;
    for (Sequence n = first; n <= last; ++n) {
      if (n == first || (n - 1) % kBlockSlots == 0) there = block(geometry.block_of(n));
      fill_slot(expected.data(), n, salt, geometry);
      const auto slot = std::span(there).subspan((n - 1) % kBlockSlots * geometry.slot_bytes);
      if (!std::ranges::equal(slot.first(expected.size()), expected)) return false;
    }
    return true;
  }
  bool holds(Sequence n, std::uint64_t salt) { return holds_all(n, n, salt); }
  // Returns how far the sums reach. Each sum must match its block, even
  // beyond what was announced.
  Sequence durable_by_sums(Sequence first, Sequence through) {
    const auto segments = list_segments(files());
    const auto walk = walk_sums(files(), *segments, first, through);
    REQUIRE(walk.ok());
    CHECK_FALSE(walk->damage.has_value());
    const JournalGeometry& geometry = publisher.geometry();
    for (Sequence n = first; n <= walk->durable; n += kBlockSlots) {
      const std::uint64_t number = geometry.block_of(n);
      REQUIRE(sum_matches(sum(number), block(number), geometry));
    }
    return walk->durable;
  }
  // Checks that every segment with a .jnl name is complete and has its companions.
  void check_segments() {
    const JournalGeometry& geometry = publisher.geometry();
    const auto segments = list_segments(files());
    REQUIRE(segments.ok());
    for (const std::uint64_t segment : *segments) {
      const std::string jnl = path(segment, "jnl");
      INFO(jnl);
      const auto header = read<SegmentHeader>(jnl, 0, 1)[0];
      CHECK(
          check_segment_header(header, ArchiveFixture::journal_id(), geometry, segment, jnl).ok());
      REQUIRE(disk.exists(path(segment, "idx")).value());
      read<std::byte>(jnl, 0, segment_file_bytes(geometry));
      read<std::byte>(path(segment, "sum"), 0, sum_file_bytes(geometry));
    }
  }
  std::vector<std::string> names() { return *disk.list(publisher.directory()); }
  bool nothing_wrong() const {
    return queue.overlapping_writes() == 0 && queue.changed_in_flight() == 0;
  }

  SimDisk disk;
  SimWriteQueue queue;
  ArchiveFixture publisher;
};

bool flush(Bench& bench) {
  bench.archiver().request_flush(bench.publisher.head());
  return bench.publisher.step_until(
      [&] { return bench.archiver().durable() == bench.publisher.head(); }, 10'000, 1);
}

// A ring and segments of 65,536 slots, so that a test can use up a reservation.
ArchiveFixture::Options many_small_records() {
  ArchiveFixture::Options options{.root = kSimRoot};
  options.geometry = {.slot_bytes = 16, .record_bytes = 8, .segment_slots = 65536};
  options.capacity = 65536;
  options.retention.bytes_max = 4 * 1024 * 1024;
  return options;
}

TEST_CASE("A slot is not reused before its block is archived") {
  std::uint64_t gated = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SimRandom random(seed);
    const SimBehaviour slow{.complete_percent = static_cast<unsigned>(5 + random.below(90)),
                            .reorder = true,
                            .short_percent = static_cast<unsigned>(random.below(40)),
                            .again_percent = static_cast<unsigned>(random.below(20)),
                            .depth = 1 + random.below(64)};
    Bench bench(seed, slow);
    INFO("seed " << seed);
    REQUIRE(bench.publisher.begin(1, 1).ok());
    while (bench.publisher.head() < 6000) {
      const std::uint64_t wanted = 1 + random.below(400);
      if (bench.publisher.publish(wanted) < wanted) ++gated;
      bench.publisher.step(random.below(2));
      if (random.chance(5)) bench.archiver().request_flush(bench.publisher.head());
      const Sequence limit = bench.archiver().limit();
      if (limit <= kSegmentSlots) continue;
      // The journal has the newest record that may be overwritten, and the rest of its block.
      const Sequence given_up = limit - kSegmentSlots;
      REQUIRE(given_up % kBlockSlots == 0);
      REQUIRE(given_up <= bench.archiver().archived());
      REQUIRE(bench.holds_all(given_up - kBlockSlots + 1, given_up, 1));
    }
    REQUIRE(bench.publisher.close().ok());
    CHECK(bench.holds_all(1, bench.publisher.head(), 1));
    CHECK(bench.durable_by_sums(1, bench.publisher.head()) == bench.publisher.head());
    CHECK(bench.nothing_wrong());
  }
  CHECK(gated > 100);  // otherwise the publisher never waited, and nothing was tested
}

TEST_CASE("A block that fills in three steps is rewritten whole and its earlier sum still holds") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  std::vector<SumEntry> sums;
  for (const std::uint64_t count : {10u, 20u, 34u}) {
    REQUIRE(bench.publisher.publish(count) == count);
    REQUIRE(flush(bench));
    sums.push_back(bench.sum(0));
    CHECK(sums.back().count == bench.publisher.head());
    for (const SumEntry& sum : sums)
      CHECK(sum_matches(sum, bench.block(0), bench.publisher.geometry()));
  }
  CHECK(bench.archiver().counters().writes == 3);
  CHECK(bench.holds_all(1, kBlockSlots, 1));
}

TEST_CASE("The unwritten slots of a partial block are zeros, not bytes of an older lap or block") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.publisher.publish_all(50);
  REQUIRE(flush(bench));                            // the private copy has 50 slots
  bench.publisher.publish_all(kSegmentSlots - 40);  // the ring's first slots are one lap old
  REQUIRE(flush(bench));
  const auto block = bench.block(kSegmentSlots / kBlockSlots);
  CHECK(std::ranges::all_of(std::span(block).subspan(10 * 64),
                            [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_CASE("durable never passes the records that survive a power cut") {
  std::uint64_t announced = 0, lost = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SimRandom random(seed);
    const SimBehaviour chaos{.complete_percent = static_cast<unsigned>(20 + random.below(80)),
                             .reorder = true,
                             .short_percent = 10};
    Bench bench(seed, chaos);
    INFO("seed " << seed);
    REQUIRE(bench.publisher.begin(1, 1).ok());
    const std::uint64_t turns = random.below(60);
    for (std::uint64_t i = 0; i < turns; ++i) {
      bench.publisher.publish(random.below(150));
      bench.publisher.step(random.below(2));
      bench.publisher.pass_time(random.below(4'000'000));
    }
    const Sequence durable = bench.archiver().durable();
    const Sequence head = bench.publisher.head();
    bench.disk.power_cut();
    bench.publisher.drop_archiver();
    const Sequence kept = bench.durable_by_sums(1, head);
    REQUIRE(kept >= durable);
    REQUIRE(bench.holds_all(1, kept, 1));
    bench.check_segments();
    announced += durable;
    lost += head - durable;
  }
  CHECK(announced > 0);
  CHECK(lost > 0);
}

TEST_CASE("Only sequences reserved on both copies of the session log are allowed") {
  ArchiveFixture::Options options{.root = kSimRoot};
  options.capacity = 4096;
  Bench bench(1, {}, options);
  REQUIRE(bench.publisher.begin(1, 1).ok());
  const auto reserved = [&] {
    const auto log = SessionLog::open_read_only(bench.disk, kSimRoot);
    REQUIRE(log.ok());
    return log->last()->reserved_through;
  };
  const Sequence first = reserved();
  CHECK(first == kReservationStepMin);
  CHECK(first % kBlockSlots == 0);
  CHECK(bench.archiver().limit() == 4096);
  bench.disk.power_cut();  // immediately; start() reserved it on disk
  CHECK(reserved() == first);
}

TEST_CASE("A reservation is renewed before it is needed, synced, and never lowered") {
  Bench bench(1, {}, many_small_records());
  REQUIRE(bench.publisher.begin(1, 1).ok());
  while (bench.publisher.head() < kReservationStepMin / 2 + 65536) {
    const Sequence reserved = bench.publisher.sessions().last()->reserved_through;
    bench.publisher.publish(65536);
    bench.publisher.step();
    REQUIRE(bench.archiver().limit() <= bench.publisher.sessions().last()->reserved_through);
    REQUIRE(bench.publisher.sessions().last()->reserved_through >= reserved);
  }
  CHECK(bench.publisher.sessions().last()->reserved_through > kReservationStepMin);
}

TEST_CASE("Ten years of ten million records a second need few reservations") {
  constexpr std::uint64_t kRate = 10'000'000;
  constexpr std::uint64_t kYear = 365 * std::uint64_t{86'400};
  std::uint64_t rows = 0;
  for (std::uint64_t head = 0; head < 10 * kYear * kRate; ++rows) {
    head += reservation_step(1 << 20, kRate * kReservationSeconds, head) / 2;
  }
  CHECK(rows > 1000);
  CHECK(rows < kSessionEntriesMax / 64);
}

TEST_CASE("A session that begins in the middle of a block keeps the slots before it") {
  for (const Sequence last_before : {5u, 63u, 64u, 1000u}) {
    Bench bench;
    INFO("the session before ends at " << last_before);
    REQUIRE(bench.publisher.begin(1, 1).ok());
    bench.publisher.publish_all(last_before);
    REQUIRE(bench.publisher.close().ok());
    bench.publisher.drop_archiver();
    REQUIRE(bench.publisher.begin(2, last_before + 1).ok());
    CHECK(bench.archiver().archived() == last_before);
    CHECK(bench.archiver().durable() == last_before);
    bench.publisher.publish_all(1);
    REQUIRE(flush(bench));
    CHECK(bench.holds_all(1, last_before, 1));
    CHECK(bench.holds(last_before + 1, 2));
    bench.publisher.publish_all(200);
    REQUIRE(bench.publisher.close().ok());
    CHECK(bench.holds_all(1, last_before, 1));
    CHECK(bench.holds_all(last_before + 1, last_before + 201, 2));
    CHECK(bench.durable_by_sums(1, last_before + 201) == last_before + 201);
  }
}

TEST_CASE("A session does not begin on a block that lacks the records before it") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.publisher.publish_all(10);
  REQUIRE(bench.publisher.close().ok());
  bench.publisher.drop_archiver();
  bench.disk.flip_bit(bench.path(0, "jnl"), kSegmentHeaderBytes + 4 * 64, 1);  // record 5's stamp
  const absl::Status status = bench.publisher.begin(2, 11);
  CHECK(errc_of(status) == Errc::kDamaged);
  CHECK(std::string(status.message()).find("record 5") != std::string::npos);
}

TEST_CASE("A session that begins after a void creates only the segments it needs") {
  Bench bench;
  const Sequence first = 5 * kSegmentSlots + 3 * kBlockSlots + 1;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.publisher.drop_archiver();
  SessionEntry cut{};
  cut.kind = SessionEntryKind::kEnd;
  cut.journal_id = ArchiveFixture::journal_id();
  cut.session_id = id_of(1);
  cut.how = SessionEnd::kCut;
  cut.void_first = 1;
  cut.void_last = first - 1;
  REQUIRE(bench.publisher.sessions().append(cut).ok());
  for (const std::string& name : bench.names()) {
    REQUIRE(bench.disk.remove(bench.publisher.directory() + "/" + name).ok());
  }
  REQUIRE(bench.publisher.begin(2, first).ok());
  bench.publisher.publish_all(100);
  REQUIRE(bench.publisher.close().ok());
  CHECK(bench.names().size() == 4);  // segment 5: .jnl, .sum, .idx
  CHECK(bench.holds_all(first, first + 99, 2));
  CHECK(bench.durable_by_sums(first, first + 99) == first + 99);
}

// Checks a failed journal's state: durable does not move, and everything up to it is intact.
void check_frozen(Bench& bench, JournalState state, int sys_errno) {
  bench.publisher.step();  // records the end
  const Sequence durable = bench.archiver().durable();
  const Sequence archived = bench.archiver().archived();
  CHECK(bench.archiver().condition().state == state);
  CHECK(bench.archiver().condition().sys_errno == sys_errno);
  CHECK(errc_of(bench.archiver().failure()) == Errc::kJournalFailed);
  CHECK(bench.archiver().limit() == kSequenceMax);
  const std::uint64_t writes = bench.archiver().counters().writes;
  bench.publisher.publish(500);
  for (int i = 0; i < 100; ++i) bench.publisher.step(1);
  CHECK(bench.archiver().durable() == durable);
  CHECK(bench.archiver().archived() == archived);
  CHECK(bench.archiver().counters().writes == writes);
  CHECK(bench.publisher.close() == bench.archiver().failure());
  bench.queue.behaviour().hold_writes = false;  // or the archiver's end would wait for them
  const SessionRecord* const session = bench.publisher.sessions().last();
  REQUIRE(session->end.has_value());
  CHECK(session->end->how == SessionEnd::kFailed);
  CHECK(session->end->last == durable);
  CHECK(session->end->sys_errno == static_cast<std::uint32_t>(sys_errno));
  bench.publisher.drop_archiver();
  bench.disk.power_cut();
  CHECK(bench.holds_all(1, durable, 1));
  CHECK(bench.durable_by_sums(1, bench.publisher.head()) >= durable);
}

TEST_CASE("The first failed write or sync freezes durable for good") {
  struct Case {
    SimOp op;
    const char* name_end;
    int sys_errno;
  };
  for (const Case& fault : {Case{SimOp::kWrite, ".jnl", EIO}, Case{SimOp::kSync, ".jnl", EIO},
                            Case{SimOp::kWrite, ".sum", EDQUOT}, Case{SimOp::kSync, ".sum", EIO}}) {
    Bench bench(1, {.complete_percent = 10, .reorder = true});
    INFO(static_cast<int>(fault.op) << " of " << fault.name_end);
    REQUIRE(bench.publisher.begin(1, 1).ok());
    bench.publisher.publish_all(300);
    REQUIRE(flush(bench));
    CHECK(bench.archiver().durable() == 300);
    bench.disk.fail(fault.op, 2, fault.sys_errno, fault.name_end);
    REQUIRE(bench.publisher.step_until([&] {
      bench.publisher.publish(70);
      return bench.archiver().condition().state != JournalState::kGood;
    }));
    CHECK(bench.archiver().durable() >= 300);
    check_frozen(bench, JournalState::kFailed, fault.sys_errno);
  }
}

TEST_CASE(
    "A failed journal reports it at once, but nothing passes the reservation before its end") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  const Sequence reserved = bench.publisher.sessions().last()->reserved_through;
  bench.disk.fail(SimOp::kWrite, 1, EIO, ".jnl");
  bench.publisher.publish_all(200);
  REQUIRE(bench.publisher.step_until([&] { return !bench.archiver().failure().ok(); }));
  CHECK(bench.archiver().condition().state == JournalState::kFailed);
  CHECK(bench.archiver().limit() == reserved);
  CHECK_FALSE(bench.publisher.sessions().last()->end.has_value());
  bench.publisher.step();
  CHECK(bench.publisher.sessions().last()->end.has_value());
  CHECK(bench.archiver().limit() == kSequenceMax);
}

TEST_CASE("A failed reservation is the journal's failure") {
  Bench bench(1, {}, many_small_records());
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.disk.fail(SimOp::kSync, 1, EIO, "sessions.copy");
  REQUIRE(bench.publisher.step_until([&] {
    bench.publisher.publish(65536);
    return bench.archiver().condition().state == JournalState::kFailed;
  }));
  CHECK(bench.publisher.head() <= kReservationStepMin);
  CHECK(bench.archiver().condition().sys_errno == EIO);
  bench.publisher.step();
  const std::string message(bench.archiver().failure().message());
  CHECK(message.find("could not be recorded") != std::string::npos);
}

TEST_CASE("A shed journal lifts the limit at once and records its end") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.queue.behaviour().hold_writes = true;
  CHECK(bench.publisher.publish(5000) == kSegmentSlots);  // the disk is stalled
  bench.publisher.step();
  CHECK(bench.publisher.publish(1) == 0);
  bench.archiver().shed();
  CHECK(bench.publisher.publish(1) == 1);
  check_frozen(bench, JournalState::kShed, 0);
}

TEST_CASE("A full disk is a failure only if a last attempt fails when the segment is needed") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());  // segments 0 to 2 are prepared
  const std::uint64_t room = bench.publisher.geometry().segment_bytes();
  bench.disk.set_capacity(0);
  bench.publisher.publish_all(kSegmentSlots + 1);
  REQUIRE(flush(bench));
  for (int i = 0; i < 20; ++i) bench.publisher.step();
  CHECK(bench.archiver().failure().ok());
  CHECK(bench.archiver().step(bench.publisher.head(), bench.publisher.now_ns(), 0, 0) !=
        UINT64_MAX);  // it asks for another attempt

  SECTION("room in time: the journal goes on") {
    bench.disk.set_capacity(UINT64_MAX);
    bench.publisher.pass_time(kPreparationRetryNs);
    bench.publisher.publish_all(5 * kSegmentSlots);
    REQUIRE(flush(bench));
    CHECK(bench.holds_all(1, bench.publisher.head(), 1));
  }
  SECTION("room at the last moment: the attempt when it is needed succeeds") {
    REQUIRE(bench.publisher.step_until([&] {
      bench.publisher.publish(100);
      if (bench.archiver().archived() == 3 * kSegmentSlots) bench.disk.set_capacity(UINT64_MAX);
      return bench.archiver().archived() > 3 * kSegmentSlots;
    }));
    CHECK(bench.archiver().failure().ok());
  }
  SECTION("no room: it fails with the number of bytes that were needed") {
    REQUIRE(bench.publisher.step_until([&] {
      bench.publisher.publish(100);
      return bench.archiver().condition().state == JournalState::kFailed;
    }));
    CHECK(bench.archiver().archived() == 3 * kSegmentSlots);
    CHECK(bench.archiver().condition().sys_errno == ENOSPC);
    const std::string message(bench.archiver().failure().message());
    CHECK(message.find(std::to_string(room + kSegmentHeaderBytes)) != std::string::npos);
    for (const std::string& name : bench.names()) CHECK(name.find(".new") == std::string::npos);
  }
}

TEST_CASE("A full disk loses entries of the time index, not the journal") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  const auto entries = [&] {
    const OpenFile file(bench.disk, *bench.disk.open(bench.path(0, "idx"), {}));
    return bench.read<TimeEntry>(bench.path(0, "idx"), 0,
                                 *bench.disk.size(file.get()) / sizeof(TimeEntry));
  };
  const auto publish_durably = [&] {
    bench.publisher.publish_all(50);
    REQUIRE(flush(bench));
    for (int i = 0; i < 10; ++i) bench.publisher.step(1);
  };
  publish_durably();
  bench.disk.set_capacity(0);
  for (int i = 0; i < 3; ++i) publish_durably();
  CHECK(bench.archiver().failure().ok());
  CHECK(entries().size() == 1);
  bench.disk.set_capacity(UINT64_MAX);
  publish_durably();
  REQUIRE(entries().size() == 2);
  CHECK(entries()[1].sequence == bench.publisher.head());
  CHECK(time_entry_valid(ArchiveFixture::journal_id(), entries()[1]));
  CHECK(bench.publisher.close().ok());
}

TEST_CASE("A start on a full disk reports how many bytes it needs") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  REQUIRE(bench.publisher.close().ok());
  bench.publisher.drop_archiver();
  bench.disk.set_capacity(0);
  CHECK(errc_of(bench.publisher.begin(2, 1)) == Errc::kNoSpace);
}

TEST_CASE("A segment that is not ready makes archiving wait, is counted, and is not a failure") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.queue.behaviour().hold_syncs = true;  // no segment can be finished
  REQUIRE(bench.publisher.step_until([&] {
    bench.publisher.publish(200);
    return bench.archiver().archived() == 3 * kSegmentSlots;
  }));
  bench.publisher.publish(2 * kSegmentSlots);
  for (int i = 0; i < 100; ++i) bench.publisher.step(1);
  CHECK(bench.archiver().archived() == 3 * kSegmentSlots);
  CHECK(bench.archiver().counters().segment_waits == 1);
  CHECK(bench.publisher.head() == 4 * kSegmentSlots);  // ahead by a full ring
  CHECK(bench.publisher.publish(1) == 0);
  bench.queue.behaviour().hold_syncs = false;
  REQUIRE(flush(bench));
  CHECK(bench.holds_all(1, bench.publisher.head(), 1));
}

TEST_CASE("At least two segments beyond the current one are ready, more at a higher rate") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  CHECK(bench.disk.exists(bench.path(2, "jnl")).value());
  CHECK_FALSE(bench.disk.exists(bench.path(3, "jnl")).value());
  // 5,120 records per second for two seconds: ten segments.
  for (int i = 0; i < 20; ++i) {
    bench.publisher.publish_all(512);
    bench.publisher.pass_time(100'000'000);
    for (int turn = 0; turn < 20; ++turn) bench.publisher.step(1);
  }
  const std::uint64_t current = bench.publisher.geometry().segment_of(bench.publisher.head());
  CHECK(bench.disk.exists(bench.path(current + 9, "jnl")).value());
}

TEST_CASE("A start after a kill adopts prepared segments and removes unfinished ones") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Bench bench(seed, {.complete_percent = 30, .reorder = true});
    INFO("seed " << seed);
    REQUIRE(bench.publisher.begin(1, 1).ok());
    bench.publisher.publish(kSegmentSlots + 100);
    SimRandom random(seed);
    const std::uint64_t turns = random.below(60);
    for (std::uint64_t i = 0; i < turns; ++i) bench.publisher.step();
    const Sequence archived = bench.archiver().archived();
    bench.disk.kill();
    bench.publisher.drop_archiver();
    SessionEntry recovered{};
    recovered.kind = SessionEntryKind::kEnd;
    recovered.journal_id = ArchiveFixture::journal_id();
    recovered.session_id = id_of(1);
    recovered.how = SessionEnd::kRecovered;
    recovered.last = archived;
    REQUIRE(bench.publisher.sessions_after_kill().append(recovered).ok());
    REQUIRE(bench.publisher.begin(2, archived + 1).ok());
    bench.publisher.publish_all(4 * kSegmentSlots);
    REQUIRE(bench.publisher.close().ok());
    CHECK(bench.holds_all(1, archived, 1));
    CHECK(bench.holds_all(archived + 1, bench.publisher.head(), 2));
    for (const std::string& name : bench.names()) CHECK(name.find(".new") == std::string::npos);
  }
}

TEST_CASE("A close makes everything durable, records the end, and leaves no unused segment") {
  Bench bench(1, {.complete_percent = 50, .reorder = true});
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.publisher.publish_all(kSegmentSlots + 7);
  REQUIRE(bench.publisher.close().ok());
  CHECK(bench.archiver().durable() == kSegmentSlots + 7);
  CHECK(bench.queue.in_flight() == 0);
  const SessionRecord& session = *bench.publisher.sessions().last();
  REQUIRE(session.end.has_value());
  CHECK(session.end->how == SessionEnd::kClosed);
  CHECK(session.end->last == kSegmentSlots + 7);
  CHECK(bench.names().size() == 7);  // two segments, and `retention`
  bench.publisher.drop_archiver();
  bench.disk.power_cut();
  CHECK(bench.durable_by_sums(1, kSegmentSlots + 7) == kSegmentSlots + 7);
  CHECK(bench.holds_all(1, kSegmentSlots + 7, 1));
}

TEST_CASE("A session that published nothing leaves only its end") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  REQUIRE(bench.publisher.close().ok());
  CHECK(bench.names() == std::vector<std::string>{kRetentionFileName});
  CHECK(bench.publisher.sessions().last()->end->last == 0);
}

TEST_CASE("A close on a blocked disk times out and records only the failure") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.publisher.publish(100);
  bench.queue.behaviour().hold_writes = true;
  const absl::Status status = bench.publisher.close();
  CHECK(errc_of(status) == Errc::kJournalFailed);
  CHECK(bench.publisher.sessions().last()->end->how == SessionEnd::kFailed);
  bench.queue.behaviour().hold_writes = false;  // or the archiver's end would wait for them
}

TEST_CASE(
    "The end waits for a blocked disk, logs that every minute, and ends when the disk continues") {
  std::vector<std::string> lines;
  Bench* standing = nullptr;
  ArchiveFixture::Options options{.root = kSimRoot};
  options.log = [&](const std::string& line) {
    lines.push_back(line);
    if (lines.size() == 3) standing->queue.behaviour().hold_writes = false;
  };
  Bench bench(1, {}, options);
  standing = &bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.publisher.publish(100);
  bench.queue.behaviour().hold_writes = true;
  CHECK_FALSE(bench.publisher.close().ok());
  CHECK(bench.queue.in_flight() > 0);
  CHECK(lines.empty());
  bench.publisher.drop_archiver();
  CHECK(bench.queue.in_flight() == 0);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].find(bench.publisher.directory()) != std::string::npos);
}

TEST_CASE("An idle archiver needs no turn, and writes after a millisecond of idleness") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  CHECK(bench.publisher.step() == UINT64_MAX);
  bench.publisher.publish(5);
  const std::uint64_t next = bench.publisher.step();
  CHECK(next == bench.publisher.now_ns() + 1'000'000);
  CHECK(bench.archiver().counters().writes == 0);
  bench.publisher.pass_time(next - bench.publisher.now_ns());
  bench.publisher.step();
  REQUIRE(bench.publisher.step_until([&] { return bench.archiver().archived() == 5; }));
  CHECK(bench.archiver().durable() == 0);
  bench.publisher.pass_time(10'000'000);
  REQUIRE(bench.publisher.step_until([&] { return bench.archiver().durable() == 5; }));
  REQUIRE(bench.publisher.step_until([&] { return bench.publisher.step() == UINT64_MAX; }, 10));
}

TEST_CASE("With a zero interval, syncs happen only on request and at the end of a segment") {
  ArchiveFixture::Options options{.root = kSimRoot};
  options.sync_interval_ns = 0;
  Bench bench(1, {}, options);
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.publisher.publish(1000);
  for (int i = 0; i < 1000; ++i) bench.publisher.step(1);
  CHECK(bench.archiver().archived() == 1000);
  CHECK(bench.archiver().durable() == 0);
  bench.publisher.publish(24);
  REQUIRE(bench.publisher.step_until([&] { return bench.archiver().durable() == 1024; }, 100, 1));
  bench.publisher.publish(5);
  REQUIRE(flush(bench));
}

TEST_CASE("A flush beyond head is clamped to it, and flushes share a sync") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.publisher.publish(70);
  for (const Sequence through : {3u, 70u, 50u, 1'000'000u}) bench.archiver().request_flush(through);
  REQUIRE(bench.publisher.step_until([&] { return bench.archiver().durable() == 70; }, 50, 1));
  CHECK(bench.archiver().counters().syncs == 1);
}

TEST_CASE("Retention by bytes moves oldest first and unlinks in a later turn") {
  ArchiveFixture::Options options{.root = kSimRoot};
  options.retention.bytes_max = 6 * (kSegmentHeaderBytes + kSegmentSlots * 64);
  Bench bench(1, {}, options);
  REQUIRE(bench.publisher.begin(1, 1).ok());
  Sequence oldest = 1;
  while (bench.publisher.head() < 12 * kSegmentSlots) {
    bench.publisher.publish(300);
    bench.publisher.step(1);
    const Sequence now = bench.archiver().oldest();
    CHECK(now >= oldest);
    CHECK(now <= bench.archiver().durable() + 1);
    if (now > oldest) {
      // The step that moved `oldest` has not unlinked any file yet.
      const std::uint64_t segment = bench.publisher.geometry().segment_of(now - 1);
      CHECK(bench.disk.exists(bench.path(segment, "jnl")).value());
      bench.publisher.step(1);
      CHECK_FALSE(bench.disk.exists(bench.path(segment, "jnl")).value());
      REQUIRE(bench.publisher.step_until(
          [&] { return !bench.disk.exists(bench.path(segment, "idx")).value(); }, 10));
      CHECK_FALSE(bench.disk.exists(bench.path(segment, "sum")).value());
    }
    oldest = bench.archiver().oldest();
  }
  REQUIRE(flush(bench));
  CHECK(oldest > 1);
  for (int i = 0; i < 20; ++i) bench.publisher.step(1);
  const auto segments = list_segments(bench.files());
  const std::uint64_t current = bench.publisher.geometry().segment_of(bench.publisher.head());
  CHECK(std::ranges::count_if(*segments, [&](auto segment) { return segment <= current; }) <= 6);
  CHECK(bench.holds_all(bench.archiver().oldest(), bench.publisher.head(), 1));
  CHECK(bench.archiver().counters().segments_pruned >= 6);
}

TEST_CASE("A power cut during a removal leaves no hole and no segment without companions") {
  std::uint64_t removed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ArchiveFixture::Options options{.root = kSimRoot};
    options.retention.bytes_max = 5 * (kSegmentHeaderBytes + kSegmentSlots * 64);
    Bench bench(seed, {.complete_percent = 60, .reorder = true}, options);
    INFO("seed " << seed);
    REQUIRE(bench.publisher.begin(1, 1).ok());
    bench.publisher.publish_all(8 * kSegmentSlots);
    for (std::uint64_t i = seed % 50; i > 0; --i) bench.publisher.step();
    const Sequence durable = bench.archiver().durable();
    removed += bench.archiver().counters().segments_pruned;
    bench.disk.power_cut();
    bench.publisher.drop_archiver();
    bench.check_segments();
    const auto retained = list_retained(bench.files());
    REQUIRE(retained.ok());
    CHECK(bench.holds_all(retained->oldest, durable, 1));
  }
  CHECK(removed > 0);
}

TEST_CASE("A prune removes whole segments below a sequence, never one that is not durable") {
  Bench bench;
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.publisher.publish_all(4 * kSegmentSlots + 10);
  REQUIRE(flush(bench));
  bench.archiver().request_prune(2 * kSegmentSlots + 5);
  REQUIRE(bench.publisher.step_until(
      [&] { return bench.archiver().oldest() == 2 * kSegmentSlots + 1; }, 20));
  for (int i = 0; i < 10; ++i) bench.publisher.step();
  CHECK_FALSE(bench.disk.exists(bench.path(1, "jnl")).value());
  CHECK(bench.disk.exists(bench.path(2, "jnl")).value());
  bench.archiver().request_prune(kSequenceMax);
  for (int i = 0; i < 50; ++i) bench.publisher.step();
  CHECK(bench.archiver().oldest() == 4 * kSegmentSlots + 1);
  CHECK(bench.holds_all(4 * kSegmentSlots + 1, 4 * kSegmentSlots + 10, 1));
}

ArchiveFixture::Options aged_a_minute() {
  ArchiveFixture::Options options{.root = kSimRoot};
  options.retention.age_ns_max = 60'000'000'000;
  return options;
}

// Publishes a session with two segments, and ends it.
void publish_two_segments(Bench& bench) {
  REQUIRE(bench.publisher.begin(1, 1).ok());
  bench.publisher.publish_all(2 * kSegmentSlots);
  REQUIRE(bench.publisher.close().ok());
  bench.publisher.drop_archiver();
}

// Publishes the next session.
void publish_on(Bench& bench, std::size_t records) {
  REQUIRE(bench.publisher.begin(2, 2 * kSegmentSlots + 1).ok());
  bench.publisher.publish_all(records);
  REQUIRE(flush(bench));
}

TEST_CASE("Retention by age removes segments of this session and of earlier ones") {
  Bench bench(1, {}, aged_a_minute());
  publish_two_segments(bench);
  publish_on(bench, kSegmentSlots + 10);
  bench.publisher.pass_time(50'000'000'000);
  for (int i = 0; i < 20; ++i) bench.publisher.step();
  CHECK(bench.archiver().oldest() == 1);
  bench.publisher.pass_time(20'000'000'000);
  for (int i = 0; i < 20; ++i) bench.publisher.step();
  CHECK(bench.archiver().oldest() == 3 * kSegmentSlots + 1);
  CHECK_FALSE(bench.disk.exists(bench.path(2, "jnl")).value());
  CHECK(bench.disk.exists(bench.path(3, "jnl")).value());
}

TEST_CASE("Retention by age removes segments without an index when the session is old enough") {
  Bench bench(1, {}, aged_a_minute());
  publish_two_segments(bench);
  for (std::uint64_t segment = 0; segment < 3; ++segment) {
    if (!bench.disk.exists(bench.path(segment, "idx")).value()) continue;
    REQUIRE(bench.disk.remove(bench.path(segment, "idx")).ok());
  }
  publish_on(bench, 10);
  bench.publisher.pass_time(50'000'000'000);
  for (int i = 0; i < 20; ++i) bench.publisher.step();
  CHECK(bench.archiver().oldest() == 1);
  bench.publisher.pass_time(20'000'000'000);
  for (int i = 0; i < 20; ++i) bench.publisher.step();
  CHECK(bench.archiver().oldest() == 2 * kSegmentSlots + 1);
}

constexpr std::int64_t kYearNs = 365LL * 24 * 3600 * 1'000'000'000;

TEST_CASE("Retention by age keeps fresh segments after a step of the wall clock") {
  Bench bench(1, {}, aged_a_minute());
  publish_two_segments(bench);
  publish_on(bench, kSegmentSlots + 10);
  const std::int64_t step_ns = GENERATE(as<std::int64_t>{}, kYearNs, -kYearNs);
  INFO("step " << step_ns);
  bench.publisher.step_wall_clock(step_ns);
  bench.publisher.pass_time(50'000'000'000);
  for (int i = 0; i < 20; ++i) bench.publisher.step();
  CHECK(bench.archiver().oldest() == 1);
  // Segments that become too old are still removed.
  bench.publisher.pass_time(20'000'000'000);
  for (int i = 0; i < 20; ++i) bench.publisher.step();
  CHECK(bench.archiver().oldest() == 3 * kSegmentSlots + 1);
}

TEST_CASE("Segments from the future are removed when the session is older than the limit") {
  Bench bench(1, {}, aged_a_minute());
  publish_two_segments(bench);
  bench.publisher.step_wall_clock(-kYearNs);
  publish_on(bench, 10);
  bench.publisher.pass_time(50'000'000'000);
  for (int i = 0; i < 20; ++i) bench.publisher.step();
  CHECK(bench.archiver().oldest() == 1);
  bench.publisher.pass_time(20'000'000'000);
  for (int i = 0; i < 20; ++i) bench.publisher.step();
  CHECK(bench.archiver().oldest() == 2 * kSegmentSlots + 1);
}

TEST_CASE("The time index never decreases and a full segment ends with its own last sequence") {
  Bench bench(3, {.complete_percent = 60, .reorder = true});
  REQUIRE(bench.publisher.begin(1, 1).ok());
  while (bench.publisher.head() < 5 * kSegmentSlots + 500) {
    bench.publisher.publish(90);
    bench.publisher.step(1);
    bench.publisher.pass_time(1'000'000);
  }
  REQUIRE(bench.publisher.close().ok());
  Sequence sequence = 0;
  std::uint64_t wall_ns = 0;
  for (std::uint64_t segment = 0; segment <= 5; ++segment) {
    const OpenFile file(bench.disk, *bench.disk.open(bench.path(segment, "idx"), {}));
    const std::size_t count = *bench.disk.size(file.get()) / sizeof(TimeEntry);
    REQUIRE(count > 0);
    for (const TimeEntry& entry : bench.read<TimeEntry>(bench.path(segment, "idx"), 0, count)) {
      REQUIRE(time_entry_valid(ArchiveFixture::journal_id(), entry));
      CHECK(entry.sequence > sequence);
      CHECK(entry.wall_ns >= wall_ns);
      CHECK(bench.publisher.geometry().segment_of(entry.sequence) == segment);
      sequence = entry.sequence;
      wall_ns = entry.wall_ns;
    }
    if (segment < 5) CHECK(sequence == (segment + 1) * kSegmentSlots);
  }
  CHECK(sequence == bench.publisher.head());
}

TEST_CASE("Sizes that contradict each other are refused before anything is written") {
  ArchiveFixture::Options options{.root = kSimRoot};
  options.geometry.segment_slots = 512;  // 32 KiB
  Bench bench(1, {}, options);
  CHECK(errc_of(bench.publisher.start_archiver(1, 1)) == Errc::kInvalidArgument);
}

}  // namespace
}  // namespace lapwing
