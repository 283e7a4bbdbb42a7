// Tests the source of the next record, for each place where it can be. splice_test.cc and
// missing_files_test.cc test the machine that uses it.
#include "subscribers/catch_up.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "testing/attached_bus.h"

namespace lapwing {
namespace {

using Outcome = CatchUp::Outcome;

constexpr std::uint64_t kForEver = 1'000'000'000'000;  // longer than any test takes

// 1,024 slots. Records that have left the ring are archived; bus.archive() archives more.
struct Behind : AttachedBus {
  explicit Behind(std::uint64_t published, std::uint64_t grace_ns = 0)
      : AttachedBus(published), catch_up(std::chrono::nanoseconds(grace_ns)) {}

  CatchUp::Read read(Sequence next, std::uint64_t room = 4, bool ended = false) {
    out.assign(room * 56, std::byte{0});
    auto read = catch_up.read(attachment, next, out, ended, seen_head);
    REQUIRE(read.ok());
    return *std::move(read);
  }
  bool holds(Sequence n) const {
    const std::vector<std::byte> expected = bus.journal.record(n);
    return std::equal(expected.begin(), expected.end(), out.begin());
  }
  CatchUp catch_up;
  std::vector<std::byte> out;
  Sequence seen_head = 0;
};

TEST_CASE("Records that have left the ring come from the journal, as many at once as fit") {
  Behind behind(3000);
  const CatchUp::Read read = behind.read(7);
  CHECK(read.outcome == Outcome::kRecords);
  CHECK(read.records == 4);
  CHECK(behind.holds(7));
}

TEST_CASE("A record beyond archived comes from the ring, however near it is to being overwritten") {
  Behind behind(1000);
  REQUIRE(behind.bus.archived() == 0);
  const CatchUp::Read read = behind.read(1);
  CHECK(read.outcome == Outcome::kRecords);
  CHECK(read.records == 4);
  CHECK(behind.holds(1));
}

TEST_CASE("Reading returns to the ring only with half of its slots to spare") {
  Behind behind(3000);
  CHECK(behind.read(3000 - 511).outcome == Outcome::kInRing);
  CHECK(behind.read(3000 - 512).outcome == Outcome::kRecords);
  CHECK(behind.read(3001).outcome == Outcome::kInRing);
}

TEST_CASE("Below the floor of a lap, reading does not return to the ring until another session") {
  Behind behind(3000);
  behind.catch_up.keep_to_journal_below(2990);
  CHECK(behind.read(2989).outcome == Outcome::kRecords);
  CHECK(behind.read(2990).outcome == Outcome::kInRing);
  behind.catch_up.start();
  CHECK(behind.read(2989).outcome == Outcome::kInRing);
}

TEST_CASE("Pruned records are a hole that ends where the journal begins") {
  Behind behind(3000);
  behind.bus.prune_below_segment(1);
  const CatchUp::Read read = behind.read(3);
  CHECK(read.outcome == Outcome::kHole);
  CHECK(read.cause == GapCause::kPruned);
  CHECK(read.last == behind.bus.oldest - 1);
  CHECK(read.detail.find("no longer kept") != std::string::npos);
}

TEST_CASE("Records overwritten after the journal failed are a hole, once nothing is archived") {
  Behind behind(1000);
  behind.bus.fail_journal();
  behind.bus.publish(2000);
  const CatchUp::Read read = behind.read(1);
  CHECK(read.outcome == Outcome::kHole);
  CHECK(read.cause == GapCause::kLapped);
  CHECK(read.last >= 3000 - TestBus::kCapacity);
}

TEST_CASE(
    "A missing file is waited for, or its records are a hole, depending on the grace period") {
  const bool waits = GENERATE(true, false);
  Behind behind(3000, waits ? kForEver : 0);
  std::filesystem::remove(behind.bus.journal.file(0, "jnl"));
  const CatchUp::Read read = behind.read(1);
  CHECK(read.outcome == (waits ? Outcome::kNothing : Outcome::kHole));
  if (!waits) CHECK(read.cause == GapCause::kDamaged);
}

TEST_CASE("A session without a ring ends at the end of the journal") {
  Behind behind(3000);
  behind.bus.kill();
  behind.bus.close_journal();
  const BusDescription left = behind.bus.description(false);
  auto attachment = Attachment::to_remains(behind.bus.directory(), left);
  REQUIRE(attachment.ok());
  REQUIRE(attachment->ring() == nullptr);
  behind.out.resize(56);
  const auto last = behind.catch_up.read(*attachment, 3000, behind.out, true, behind.seen_head);
  CHECK(last->outcome == Outcome::kRecords);
  const auto after = behind.catch_up.read(*attachment, 3001, behind.out, true, behind.seen_head);
  CHECK(after->outcome == Outcome::kAtEnd);
}

}  // namespace
}  // namespace lapwing
