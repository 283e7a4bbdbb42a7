// The checkpointer on a bus that the test drives step by step. Its state must equal the state that
// the fold computes in memory from the same history.
#include "lapwing/checkpointer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "lapwing/error.h"
#include "subscribers/checkpointer/state_store.h"
#include "testing/checkpointer_fixture.h"

namespace lapwing {
namespace {

// The position in the files while no checkpointer is running.
StorePosition position_in_store(const TestBus& bus) {
  const auto store = StateStore::open(tally_directory(bus) + "/state", TallyFold().shape());
  REQUIRE(store.ok());
  REQUIRE((*store)->position());
  return *(*store)->position();
}

}  // namespace

TEST_CASE("Store and checkpoint contain the fold of all records up to the last that settles") {
  ClosedBus bus(5000);
  Reference reference = reference_of(bus);
  reference.fold_through(5000);
  Following following(bus, options_for(bus));
  REQUIRE(following.until_closed());
  REQUIRE(following.checkpointer->finish().ok());
  CHECK(following.checkpointer->committed()->sequence == reference.settled());
  CHECK(following.digest() == reference.settled_digest());
  const std::vector<CheckpointFile> files = files_of(bus);
  REQUIRE(files.size() == 1);
  CHECK(files[0].as_of == reference.settled());
  CHECK(digest_of(files[0]) == reference.settled_digest());
}

TEST_CASE("A run continues exactly where the previous one ended, any number of times") {
  TestBus bus;
  bus.start();
  Reference reference = reference_of(bus);
  for (Sequence n = 300; n <= 3000; n += 300) {
    bus.publish(300);
    bus.archive(n);
    reference.fold_through(n);
    Following following(bus, options_for(bus));
    REQUIRE(following.until_folded(reference.settled()));
    REQUIRE(following.checkpointer->finish().ok());
    CHECK(following.checkpointer->committed()->sequence == reference.settled());
    CHECK(following.digest() == reference.settled_digest());
  }
}

TEST_CASE("Only durable records are folded") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  Following following(bus, options_for(bus));
  REQUIRE(following.until_folded(280));
  bus.publish(100);
  bus.archive_unsynced(400);
  following.until_quiet();
  CHECK(following.checkpointer->folded_through() <= 300);
  bus.archive(400);
  CHECK(following.until_folded(380));
}

TEST_CASE("Records that a cut removed are dropped, and the void is lost to the fold") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  Reference reference = reference_of(bus);
  Following following(bus, options_for(bus));
  REQUIRE(following.until_folded(280));
  bus.publish(100);  // the checkpointer reads these
  following.until_quiet();
  bus.kill();
  following.until_quiet();
  const Sequence reserved = bus.reserved();
  bus.cut(300);
  bus.start();
  bus.publish(500);
  bus.archive(bus.head());
  REQUIRE(following.until_folded(reserved + 450));
  bus.close();
  REQUIRE(following.until_closed());
  REQUIRE(following.checkpointer->finish().ok());
  reference.fold_through(300);
  reference.lose_through(reserved);
  reference.fold_through(reserved + 500);
  CHECK(following.checkpointer->committed()->sequence == reference.settled());
  CHECK(following.digest() == reference.settled_digest());
  CHECK(following.checkpointer->counters().lost == reserved - 300);
  CHECK(following.checkpointer->counters().resets == 0);
}

TEST_CASE("Another history empties the store and removes the checkpoints of the old one") {
  TestBus bus;
  bus.start();
  bus.publish(900);
  bus.archive(900);
  Reference before = reference_of(bus);
  {
    Following following(bus, options_for(bus));
    REQUIRE(following.until_folded(880));
    REQUIRE(following.checkpointer->finish().ok());
    before.fold_through(900);
    REQUIRE(following.digest() == before.settled_digest());
  }
  bus.fail_journal();
  bus.close();
  bus.start();
  bus.publish(400);
  bus.close();
  Following following(bus, options_for(bus));
  REQUIRE(following.until_closed());
  REQUIRE(following.checkpointer->finish().ok());
  Reference after = reference_of(bus);
  after.lose_beginning();
  after.fold_through(400);
  CHECK(following.checkpointer->counters().resets == 1);
  CHECK(following.digest() == after.settled_digest());
  CHECK(checkpoints_of(bus) == std::vector<Sequence>{after.settled()});
}

TEST_CASE("A checkpointer without a position begins with the newest journal") {
  TestBus bus;
  bus.start();
  bus.publish(900);
  bus.archive(900);
  bus.fail_journal();
  bus.close();
  bus.start();
  bus.publish(400);
  bus.close();
  Following following(bus, options_for(bus));
  REQUIRE(following.until_closed());
  REQUIRE(following.checkpointer->finish().ok());
  Reference expected = reference_of(bus);
  expected.lose_beginning();
  expected.fold_through(400);
  CHECK(following.checkpointer->counters().resets == 0);
  CHECK(following.checkpointer->counters().records == expected.settled());
  CHECK(following.digest() == expected.settled_digest());
}

TEST_CASE("A state that begins in the middle of the journal begins with a loss") {
  TestBus bus;
  bus.start();
  bus.publish(4000);
  bus.archive(4000);
  bus.prune_below_segment(1);
  Following following(bus, options_for(bus));
  REQUIRE(following.until_folded(3980));
  bus.close();
  REQUIRE(following.until_closed());
  REQUIRE(following.checkpointer->finish().ok());
  Reference reference = reference_of(bus);
  reference.lose_through(bus.oldest - 1);
  reference.fold_through(4000);
  CHECK(following.digest() == reference.settled_digest());
}

TEST_CASE("A fold that never settles is stored, but gets no checkpoint") {
  ClosedBus bus(5000);
  CheckpointerSetUp options = options_for(bus);
  options.pending_bytes_max = 100 * 56;
  options.hot_bytes_max = 1;
  options.every_records = 500;
  for (int run = 0; run < 2; ++run) {
    options.own_fold = std::make_shared<TallyFold>(1, false);
    Following following(bus, options);
    REQUIRE(following.until_closed());
    REQUIRE(following.checkpointer->finish().ok());
    CHECK(following.checkpointer->committed()->sequence == 5000);
    Reference reference = reference_of(bus);
    reference.fold_through(5000);
    CHECK(following.digest() == reference.digest());
    CHECK(checkpoints_of(bus).empty());
    following.checkpointer.reset();
    CHECK_FALSE(position_in_store(bus).settled);
  }
}

TEST_CASE("A partly folded event is in no checkpoint before its end") {
  TestBus bus;
  bus.start();
  CheckpointerSetUp options = options_for(bus);
  options.pending_bytes_max = 3 * 56;
  options.every_records = 1;
  options.keep = 1000;
  Following following(bus, options);
  for (int i = 0; i < 20; ++i) {
    bus.publish(7);
    bus.archive(bus.head());
    following.until_quiet();
  }
  std::vector<CheckpointFile> files = files_of(bus);
  REQUIRE(files.size() > 5);
  std::reverse(files.begin(), files.end());
  Reference reference = reference_of(bus);
  for (const CheckpointFile& file : files) {
    reference.fold_through(file.as_of);
    REQUIRE(reference.settled() == file.as_of);
    REQUIRE(digest_of(file) == reference.digest());
  }
}

TEST_CASE("A bus whose durable does not move is still followed, and read again once it moves") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  CheckpointerSetUp options = options_for(bus);
  options.pending_bytes_max = 50 * 56;
  options.durable_stall_ns = 5 * kMs;
  Following following(bus, options);
  REQUIRE(following.until_folded(280));
  bus.flush = FlushManner::kIgnore;
  bus.publish(500);
  bus.archive_unsynced(800);
  following.until_quiet();  // it continues to read, and keeps only what fits
  CHECK(following.checkpointer->folded_through() <= 300);
  SECTION("after a sync") {
    bus.flush = FlushManner::kAnswer;
    bus.archive(800);
  }
  SECTION("after the publisher's death, in the next session") {
    bus.kill();
    following.until_quiet();
    bus.recover();
    bus.flush = FlushManner::kAnswer;
    bus.start();
  }
  bus.publish(200);
  bus.close();
  REQUIRE(following.until([&] { return following.checkpointer->folded_through() >= 980; }));
  REQUIRE(following.until_closed());
  REQUIRE(following.checkpointer->finish().ok());
  Reference reference = reference_of(bus);
  reference.fold_through(1000);
  CHECK(following.checkpointer->committed()->sequence == reference.settled());
  CHECK(following.digest() == reference.settled_digest());
}

TEST_CASE("Checkpoints come after so many records, and the newest are kept") {
  TestBus bus;
  bus.start();
  CheckpointerSetUp options = options_for(bus);
  options.every_records = 100;
  options.keep = 2;
  Following following(bus, options);
  Reference reference = reference_of(bus);
  std::vector<Sequence> expected;
  for (Sequence n = 150; n <= 1500; n += 150) {
    bus.publish(150);
    bus.archive(n);
    reference.fold_through(n);
    const std::uint64_t before = following.checkpointer->counters().checkpoints;
    REQUIRE(following.until(
        [&] { return following.checkpointer->counters().checkpoints == before + 1; }));
    expected.insert(expected.begin(), reference.settled());
    expected.resize(std::min<std::size_t>(expected.size(), 2));
    CHECK(checkpoints_of(bus) == expected);
    CHECK(following.checkpointer->counters().last.digest == reference.settled_digest());
  }
}

TEST_CASE("No checkpoint comes before enough records have come since the last one") {
  TestBus bus;
  bus.start();
  CheckpointerSetUp options = options_for(bus);
  options.every_records = 1000;
  Following following(bus, options);
  bus.publish(1200);
  bus.archive(1200);
  REQUIRE(following.until([&] { return following.checkpointer->counters().checkpoints == 1; }));
  bus.publish(200);
  bus.archive(1400);
  REQUIRE(following.until_folded(1350));
  following.until_quiet();
  CHECK(following.checkpointer->counters().checkpoints == 1);
}

TEST_CASE("An empty bus gets no checkpoint, and neither does an unchanged one") {
  TestBus bus;
  bus.start();
  {
    Following following(bus, options_for(bus));
    following.until_quiet();
    REQUIRE(following.checkpointer->finish().ok());
    CHECK(checkpoints_of(bus).empty());
    CHECK_FALSE(following.checkpointer->committed());
  }
  bus.publish(200);
  bus.close();
  for (std::uint64_t run = 0; run < 2; ++run) {
    Following following(bus, options_for(bus));
    REQUIRE(following.until_closed());
    REQUIRE(following.checkpointer->finish().ok());
    CHECK(following.checkpointer->counters().checkpoints == 1 - run);
    CHECK(checkpoints_of(bus).size() == 1);
  }
}

TEST_CASE("A missing store begins with the newest checkpoint, even if the journal is pruned") {
  TestBus bus;
  bus.start();
  bus.publish(4000);
  bus.archive(4000);
  {
    Following following(bus, options_for(bus));
    REQUIRE(following.until_folded(3980));
    REQUIRE(following.checkpointer->finish().ok());
  }
  std::filesystem::remove_all(tally_directory(bus) + "/state");
  bus.prune_below_segment(1);
  bus.publish(100);
  bus.close();
  Following following(bus, options_for(bus));
  REQUIRE(following.until_closed());
  REQUIRE(following.checkpointer->finish().ok());
  Reference reference = reference_of(bus);
  reference.fold_through(4100);
  CHECK(following.checkpointer->counters().records < 200);
  CHECK(following.digest() == reference.settled_digest());
}

TEST_CASE("A leftover of a run that was killed is removed at the start, a checkpoint is not") {
  ClosedBus bus(500);
  {
    CHECK(Following(bus, options_for(bus)).until_closed());
  }
  Following first(bus, options_for(bus));
  REQUIRE(first.until_closed());
  REQUIRE(first.checkpointer->finish().ok());
  first.checkpointer.reset();
  const std::vector<Sequence> kept = checkpoints_of(bus);
  const std::string leftover = checkpoint_path(tally_directory(bus), 400) + kTemporarySuffix;
  std::ofstream(leftover) << "half a checkpoint";
  open_checkpointer(options_for(bus));
  CHECK_FALSE(std::filesystem::exists(leftover));
  CHECK(checkpoints_of(bus) == kept);
}

TEST_CASE("A bus with records of another fold ends the run, and none is stored") {
  ClosedBus bus(100);
  class OtherFold : public Fold {
   public:
    OtherFold() { shape_.schema = "other"; }
    const FoldShape& shape() const override { return shape_; }
    void key_of(std::span<const std::byte>, std::span<std::byte>) const override {}
    void apply(Sequence, std::span<const std::byte>, FoldState&) const override {}
    void lose(const Gap&, FoldState&) const override {}
    bool settles(std::span<const std::byte>) const override { return true; }
    bool reads(std::span<const std::byte>, std::span<std::byte>) const override { return false; }

   private:
    FoldShape shape_ = TallyFold().shape();
  };
  CheckpointerSetUp options = options_for(bus);
  options.own_fold = std::make_shared<OtherFold>();
  Checkpointer checkpointer = open_checkpointer(options);
  const absl::Status ended = checkpointer.run(std::chrono::nanoseconds(kHangNs));
  CHECK(errc_of(ended) == Errc::kRecordSize);
  CHECK(checkpointer.finish().ok());
  CHECK_FALSE(checkpointer.committed());
  CHECK(checkpoints_of(bus).empty());
}

}  // namespace lapwing
