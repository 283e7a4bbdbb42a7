// Which problems end a journal and which do not: removed files, and hints that cannot be written.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "os/path.h"
#include "snapshot/archive/archiver.h"
#include "snapshot/archive/segment_preparation.h"
#include "snapshot/journal/journal_proof.h"
#include "snapshot/journal/retention_file.h"
#include "testing/archive_fixture.h"
#include "testing/sim_disk.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kTroubledSlots = 1024;

// A publisher on a simulated disk, with a log. Segments 0 to 2 are prepared at the start.
struct TroubledBench {
  explicit TroubledBench(Retention retention = {})
      : disk(kSimRoot, 1), queue(disk), publisher(disk, queue, options(retention)) {
    REQUIRE(publisher.begin(1, 1).ok());
  }
  ArchiveFixture::Options options(const Retention& retention) {
    ArchiveFixture::Options options{.root = kSimRoot};
    options.retention = retention;
    options.log = [this](const std::string& line) { log.push_back(line); };
    return options;
  }

  std::string path(std::uint64_t segment, const char* suffix) const {
    return numbered_path(publisher.directory(), segment, suffix);
  }
  std::string session_log(const char* suffix) const {
    return std::string(kSimRoot) + "/" + kSessionsFileName + suffix;
  }
  void publish_durably(std::uint64_t count) {
    publisher.publish_all(count);
    publisher.archiver().request_flush(publisher.head());
    REQUIRE(publisher.step_until(
        [&] {
          const bool done = publisher.archiver().durable() == publisher.head();
          return done || !publisher.archiver().failure().ok();
        },
        10'000, 1));
    for (int i = 0; i < 10; ++i) publisher.step(1);  // also the index
  }
  void look_at_names() {
    publisher.pass_time(kNamesCheckNs);
    for (int i = 0; i < 100; ++i) publisher.step(1);
  }
  // Requests the removal of the segments below this sequence, and waits until it is complete.
  void prune(Sequence below) {
    publisher.archiver().request_prune(below);
    REQUIRE(publisher.step_until([&] { return !publisher.archiver().pruning(); }, 1000));
  }
  Sequence retained_from() {
    return read_retained_from(
               {&disk, publisher.directory(), ArchiveFixture::journal_id(), publisher.geometry()})
        .value();
  }
  bool good() { return publisher.archiver().condition().state == JournalState::kGood; }
  bool failure_says(const std::string& words) {
    return publisher.archiver().failure().message().find(words) != std::string::npos;
  }
  std::size_t log_lines_with(const std::string& words) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        log, [&](const std::string& line) { return line.find(words) != std::string::npos; }));
  }
  SessionEnd end() { return publisher.sessions().last()->end->how; }
  std::vector<std::string> names() { return *disk.list(publisher.directory()); }
  // True if every record from 1 to `last` exists and is covered by a sum.
  bool all_is_proven(Sequence last) {
    const JournalFiles files{&disk, publisher.directory(), ArchiveFixture::journal_id(),
                             publisher.geometry()};
    bool sound = true;
    const DamageSink damage = [&](const JournalDamage&) { return sound = false; };
    REQUIRE(prove(files, {{1, last}}, {1, last}, ProofDepth::kRecords, damage).ok());
    return sound;
  }

  std::vector<std::string> log;
  SimDisk disk;
  SimWriteQueue queue;
  ArchiveFixture publisher;
};

TEST_CASE("A removed unused segment is not a failure of a clean end") {
  const char* const suffix = GENERATE("jnl", "sum", "idx");
  INFO(suffix);
  TroubledBench bench;
  bench.publish_durably(10);
  REQUIRE(bench.disk.remove(bench.path(2, suffix)).ok());
  CHECK(bench.publisher.close().ok());
  CHECK(bench.end() == SessionEnd::kClosed);
  CHECK(bench.names().size() == 4);  // one segment, and `retention`
  CHECK(bench.log.empty());
}

TEST_CASE("A removed unused segment is prepared again when it comes into use") {
  const char* const suffix = GENERATE("jnl", "sum");
  INFO(suffix);
  TroubledBench bench;
  bench.publish_durably(10);
  REQUIRE(bench.disk.remove(bench.path(1, suffix)).ok());
  bench.publish_durably(3 * kTroubledSlots);
  REQUIRE(bench.good());
  REQUIRE(bench.publisher.close().ok());
  CHECK(bench.all_is_proven(bench.publisher.head()));
}

TEST_CASE("A removed unused segment is created again before it is needed") {
  const char* const suffix = GENERATE("jnl", "sum");
  INFO(suffix);
  TroubledBench bench;
  bench.publish_durably(10);
  REQUIRE(bench.disk.remove(bench.path(1, suffix)).ok());
  bench.look_at_names();
  CHECK(*bench.disk.exists(bench.path(1, suffix)));
  CHECK(bench.good());
  bench.publish_durably(2 * kTroubledSlots);
  REQUIRE(bench.publisher.close().ok());
  CHECK(bench.all_is_proven(bench.publisher.head()));
}

TEST_CASE("A prepared segment that is incomplete after a kill is created again by the next start") {
  TroubledBench bench;
  bench.publish_durably(10);
  bench.disk.kill();
  bench.publisher.drop_archiver();
  SessionEntry end{};
  end.kind = SessionEntryKind::kEnd;
  end.journal_id = ArchiveFixture::journal_id();
  end.session_id = id_of(1);
  end.how = SessionEnd::kRecovered;
  end.last = 10;
  REQUIRE(bench.publisher.sessions_after_kill().append(end).ok());
  REQUIRE(bench.disk.remove(bench.path(1, "sum")).ok());
  REQUIRE(bench.disk.remove(bench.path(0, "idx")).ok());  // a hint, in the continued segment
  bench.disk.flip_bit(bench.path(2, "jnl"), 100, 1);      // its header
  REQUIRE(bench.publisher.begin(2, 11).ok());
  bench.publish_durably(4 * kTroubledSlots);
  REQUIRE(bench.good());
  REQUIRE(bench.publisher.close().ok());
  CHECK(bench.all_is_proven(bench.publisher.head()));
}

TEST_CASE("The removal of a segment with records ends the journal, and the error names it") {
  const char* const suffix = GENERATE("jnl", "sum");
  const bool at_close = GENERATE(false, true);
  INFO(suffix << (at_close ? " seen at the close" : " seen at work"));
  TroubledBench bench;
  bench.publish_durably(100);
  REQUIRE(bench.disk.remove(bench.path(0, suffix)).ok());
  if (!at_close) {
    bench.look_at_names();
    CHECK_FALSE(bench.good());
  }
  CHECK_FALSE(bench.publisher.close().ok());
  CHECK(bench.failure_says(bench.path(0, suffix)));
  CHECK(bench.failure_says("removed or replaced"));
  CHECK(bench.end() == SessionEnd::kFailed);
}

TEST_CASE("A segment that is removed and then filled within a moment ends the journal") {
  const char* const suffix = GENERATE("jnl", "sum");
  TroubledBench bench;
  bench.look_at_names();
  bench.publish_durably(100);
  REQUIRE(bench.disk.remove(bench.path(0, suffix)).ok());
  bench.publisher.publish(kTroubledSlots);
  for (int i = 0; i < 100; ++i) bench.publisher.step(1);  // much less than kNamesCheckNs
  bench.publish_durably(kTroubledSlots / 2);
  CHECK_FALSE(bench.good());
  CHECK(bench.failure_says(bench.path(0, suffix)));
}

TEST_CASE(
    "Records removed by retention do not count as lost, even before their segment is closed") {
  TroubledBench bench({.bytes_max = 1});
  for (int i = 0; i < 200; ++i) {
    bench.publisher.publish_all(kTroubledSlots / 8);
    bench.publisher.archiver().request_flush(bench.publisher.head());
    for (int turn = 0; turn < 20; ++turn) {
      bench.publisher.pass_time(kNamesCheckNs);
      bench.publisher.step(1);
    }
  }
  CHECK(bench.good());
  CHECK(bench.publisher.archiver().counters().segments_pruned > 10);
  CHECK(bench.publisher.close().ok());
}

TEST_CASE("Another file in the place of a segment with records ends the journal") {
  TroubledBench bench;
  bench.publish_durably(100);
  REQUIRE(bench.disk.rename(bench.path(2, "jnl"), bench.path(0, "jnl")).ok());
  bench.look_at_names();
  CHECK_FALSE(bench.good());
}

TEST_CASE("An index that cannot be written or synced loses its entries, not the journal") {
  const SimOp op = GENERATE(SimOp::kWrite, SimOp::kSync);
  INFO(static_cast<int>(op));
  TroubledBench bench;
  for (int i = 0; i < 3; ++i) {
    bench.disk.fail(op, 1, EIO, ".idx");
    bench.publish_durably(50);
  }
  bench.publish_durably(50);
  CHECK(bench.good());
  CHECK(bench.publisher.archiver().counters().index_failures >= 2);
  CHECK(bench.log_lines_with("time index") == 1);
  CHECK(bench.publisher.close().ok());
  CHECK(bench.end() == SessionEnd::kClosed);
  CHECK(bench.all_is_proven(200));
}

TEST_CASE("If a directory cannot be synced, the next start repeats the removal by retention") {
  TroubledBench bench;
  bench.publish_durably(3 * kTroubledSlots);
  bench.disk.fail(SimOp::kSync, 1, EIO, ArchiveFixture::journal_id().hex());
  bench.prune(kTroubledSlots + 1);
  CHECK(bench.good());
  CHECK(bench.publisher.archiver().counters().prune_failures == 1);
  CHECK(bench.log_lines_with("retention") == 1);
  CHECK_FALSE(*bench.disk.exists(bench.path(0, "jnl")));
  CHECK(*bench.disk.exists(bench.path(0, "sum")));
  REQUIRE(bench.publisher.close().ok());
  REQUIRE(bench.publisher.begin(2, 3 * kTroubledSlots + 1, kTroubledSlots + 1).ok());
  CHECK_FALSE(*bench.disk.exists(bench.path(0, "sum")));
}

TEST_CASE("A segment whose removal cannot be recorded is not removed") {
  const SimOp op = GENERATE(SimOp::kWrite, SimOp::kSync);
  INFO(static_cast<int>(op));
  TroubledBench bench;
  bench.publish_durably(3 * kTroubledSlots);
  bench.disk.fail(op, 1, EIO, kRetentionFileName);
  bench.prune(kTroubledSlots + 1);
  CHECK(bench.good());
  CHECK(*bench.disk.exists(bench.path(0, "jnl")));
  CHECK(bench.publisher.archiver().counters().prune_failures == 1);
  CHECK(bench.log_lines_with("retention leaves a file behind") == 1);
  bench.prune(2 * kTroubledSlots + 1);
  CHECK_FALSE(*bench.disk.exists(bench.path(1, "jnl")));
  CHECK(bench.retained_from() == 2 * kTroubledSlots + 1);
}

TEST_CASE("The record of retention is written again if it is removed or replaced by an old one") {
  const bool put_back = GENERATE(false, true);
  const bool seen_in_time = GENERATE(false, true);
  INFO((put_back ? "put back" : "removed") << (seen_in_time ? "" : " just before a prune"));
  TroubledBench bench;
  const std::string path = bench.publisher.directory() + "/" + kRetentionFileName;
  bench.publish_durably(4 * kTroubledSlots);
  bench.prune(kTroubledSlots + 1);
  REQUIRE(bench.disk.remove(path).ok());
  if (put_back) REQUIRE(bench.disk.open(path, {.mode = OpenMode::kCreate}).ok());
  if (seen_in_time) {
    for (int i = 0; i < 3; ++i) bench.look_at_names();
    CHECK(bench.log_lines_with("is made again") == 1);
    CHECK(bench.retained_from() == kTroubledSlots + 1);
  }
  bench.prune(2 * kTroubledSlots + 1);
  bench.disk.power_cut();
  CHECK(bench.retained_from() == 2 * kTroubledSlots + 1);
}

TEST_CASE("An unused segment that cannot be removed stays after a clean end") {
  TroubledBench bench;
  bench.publish_durably(10);
  bench.disk.fail(SimOp::kName, 1, EPERM, ".jnl");
  CHECK(bench.publisher.close().ok());
  CHECK(bench.end() == SessionEnd::kClosed);
  CHECK(bench.log_lines_with("stays behind") == 1);
  REQUIRE(bench.publisher.begin(2, 11).ok());
  bench.publish_durably(3 * kTroubledSlots);
  CHECK(bench.publisher.close().ok());
  CHECK(bench.all_is_proven(bench.publisher.head()));
}

TEST_CASE("Reserved space that cannot be released is reported, without any other effect") {
  const int sys_errno = GENERATE(EIO, EOPNOTSUPP);
  TroubledBench bench;
  bench.publish_durably(10);
  bench.disk.fail(SimOp::kPunch, 1, sys_errno, ".jnl");
  CHECK(bench.publisher.close().ok());
  CHECK(bench.end() == SessionEnd::kClosed);
  // It is not an error if the file system does not support this.
  CHECK(bench.log_lines_with("keeps the space") == (sys_errno == EIO ? 1 : 0));
  REQUIRE(bench.publisher.begin(2, 11).ok());
  bench.publish_durably(3 * kTroubledSlots);
  CHECK(bench.publisher.close().ok());
  CHECK(bench.all_is_proven(bench.publisher.head()));
}

TEST_CASE(
    "A start without room for the space that the last close released reports how much it needs") {
  TroubledBench bench;
  bench.publish_durably(10);
  REQUIRE(bench.publisher.close().ok());
  bench.publisher.drop_archiver();
  bench.disk.fail(SimOp::kAllocate, 1, ENOSPC, ".jnl");
  const absl::Status refused = bench.publisher.begin(2, 11);
  CHECK(errc_of(refused) == Errc::kNoSpace);
  CHECK(refused.message().find("a segment needs 69632 bytes") != std::string::npos);
  REQUIRE(bench.publisher.start_archiver(11, 1).ok());
  bench.publish_durably(20);
  CHECK(bench.publisher.close().ok());
  CHECK(bench.all_is_proven(30));
}

TEST_CASE("Without fallocate, no space is released, and the next session continues") {
  TroubledBench bench;
  bench.publish_durably(10);
  REQUIRE(bench.publisher.close().ok());
  bench.publisher.drop_archiver();
  bench.disk.fail(SimOp::kAllocate, 1, EOPNOTSUPP, ".jnl");
  REQUIRE(bench.publisher.begin(2, 11).ok());
  bench.publish_durably(20);
  CHECK(bench.publisher.close().ok());
  CHECK(bench.all_is_proven(30));
}

TEST_CASE("A journal that has lost sessions and its copy ends, and the error contains a remedy") {
  const bool at_close = GENERATE(false, true);
  TroubledBench bench;
  bench.publish_durably(100);
  for (const char* const suffix : {"", kCopySuffix}) {
    REQUIRE(bench.disk.remove(bench.session_log(suffix)).ok());
  }
  if (!at_close) {
    bench.look_at_names();
    CHECK_FALSE(bench.good());
  }
  CHECK_FALSE(bench.publisher.close().ok());
  CHECK(bench.failure_says(bench.session_log("")));
  CHECK(bench.failure_says("lapwing repair"));
}

TEST_CASE("One of sessions and its copy is enough, and the loss of the other is logged once") {
  const char* const suffix = GENERATE("", kCopySuffix);
  TroubledBench bench;
  bench.publish_durably(100);
  REQUIRE(bench.disk.remove(bench.session_log(suffix)).ok());
  for (int i = 0; i < 3; ++i) bench.look_at_names();
  CHECK(bench.good());
  CHECK(bench.log_lines_with("removed or replaced") == 1);
  CHECK(bench.publisher.close().ok());
  CHECK(bench.publisher.sessions_after_kill().last()->end->how == SessionEnd::kClosed);
  CHECK(*bench.disk.exists(bench.session_log(suffix)));
}

}  // namespace
}  // namespace lapwing
