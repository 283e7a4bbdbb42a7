// Retention on a bus with a discarded journal: both journals count, and the discarded one is
// removed first.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "snapshot/archive/archiver.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/segment_file.h"
#include "testing/archive_fixture.h"
#include "testing/sim_disk.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kDiscardedSlots = 1024;
constexpr std::uint64_t kSegmentBytes = kSegmentHeaderBytes + kDiscardedSlots * 64;
constexpr Sequence kFirstDurable = 2 * kDiscardedSlots + 100;

// A journal that failed after 2,148 records, and a session in a second journal.
struct TwoJournals {
  explicit TwoJournals(const Retention& retention, std::uint64_t seed = 1,
                       const SimBehaviour& behaviour = {})
      : disk(kSimRoot, seed),
        queue(disk, behaviour),
        publisher(disk, queue, {.root = kSimRoot, .retention = retention}) {
    REQUIRE(publisher.begin(1, 1).ok());
    publisher.publish_all(kFirstDurable, 1);
    flush();
    publisher.archiver().shed();
    publisher.step(1);
    REQUIRE(publisher.archiver().end_recorded());
    publisher.drop_archiver();
    discarded = publisher.files();
    publisher.begin_journal(8);
    REQUIRE(publisher.begin(2, 1).ok());
  }

  void flush() {
    publisher.archiver().request_flush(publisher.head());
    REQUIRE(publisher.step_until([&] { return publisher.archiver().durable() == publisher.head(); },
                                 100'000, 1));
  }
  void settle() {
    for (int i = 0; i < 200; ++i) publisher.step(1);
  }
  std::vector<std::uint64_t> segments_of(const JournalFiles& files) {
    const auto segments = list_segments(files);
    REQUIRE(segments.ok());
    return *segments;
  }
  std::vector<std::uint64_t> discarded_segments() { return segments_of(discarded); }
  // True if only the file that records the removals is left.
  bool is_gone() {
    return *disk.list(discarded.directory) == std::vector<std::string>{"retention"};
  }

  SimDisk disk;
  SimWriteQueue queue;
  ArchiveFixture publisher;
  JournalFiles discarded;
};

TEST_CASE("Without limits a discarded journal stays") {
  TwoJournals both({});
  const auto before = both.segments_of(both.discarded);
  both.publisher.publish_all(5 * kDiscardedSlots, 1);
  both.flush();
  both.settle();
  CHECK(both.segments_of(both.discarded) == before);
}

TEST_CASE("A discarded journal is removed as far as the limit on bytes requires") {
  const std::size_t prepared = TwoJournals({}).discarded_segments().size();
  REQUIRE(prepared >= 4);
  TwoJournals both({.bytes_max = 4 * kSegmentBytes});
  both.settle();
  const auto left = both.discarded_segments();
  CHECK(left.size() == 3);  // and one from the journal in use
  CHECK(left.back() == prepared - 1);
}

TEST_CASE("Retention by bytes counts all journals and removes the discarded one first") {
  const std::uint64_t segments_max = 6;
  TwoJournals both({.bytes_max = segments_max * kSegmentBytes});
  REQUIRE(both.segments_of(both.discarded).size() >= 3);
  Sequence oldest_of_discarded = 1;
  bool was_partly_there = false;
  while (both.publisher.head() < 12 * kDiscardedSlots) {
    both.publisher.publish(200);
    both.publisher.step(1);
    const auto retained = list_retained(both.discarded);
    REQUIRE(retained.ok());
    CHECK(retained->oldest >= oldest_of_discarded);
    oldest_of_discarded = retained->oldest;
    const bool is_there = !both.segments_of(both.discarded).empty();
    was_partly_there = was_partly_there || (is_there && retained->oldest > 1);
    if (both.publisher.archiver().oldest() > 1) CHECK_FALSE(is_there);
  }
  both.flush();
  both.settle();
  CHECK(was_partly_there);
  CHECK(both.is_gone());
  CHECK(oldest_of_discarded > kFirstDurable);
  const auto left = both.segments_of(both.publisher.files());
  const std::uint64_t current = both.publisher.geometry().segment_of(both.publisher.head());
  CHECK(std::ranges::count_if(left, [&](auto segment) { return segment <= current; }) <=
        static_cast<std::ptrdiff_t>(segments_max));
  CHECK(both.publisher.archiver().oldest() > 1);
}

TEST_CASE("Retention by age removes a discarded journal although nothing is published") {
  TwoJournals both({.age_ns_max = 60'000'000'000});
  both.publisher.pass_time(50'000'000'000);
  both.settle();
  CHECK_FALSE(both.segments_of(both.discarded).empty());
  both.publisher.pass_time(20'000'000'000);
  both.settle();
  CHECK(both.is_gone());
}

TEST_CASE("A prune applies only to the journal in use") {
  TwoJournals both({});
  const auto before = both.segments_of(both.discarded);
  both.publisher.publish_all(3 * kDiscardedSlots, 1);
  both.flush();
  both.publisher.archiver().request_prune(kSequenceMax);
  both.settle();
  CHECK_FALSE(both.publisher.archiver().pruning());
  CHECK(both.publisher.archiver().oldest() == 3 * kDiscardedSlots + 1);
  CHECK(both.segments_of(both.discarded) == before);
}

TEST_CASE("A power cut during a removal leaves a discarded journal without holes") {
  bool was_partly_there = false;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    TwoJournals both({.bytes_max = kSegmentBytes}, seed, {.complete_percent = 60, .reorder = true});
    for (std::uint64_t i = seed % 40; i > 0; --i) both.publisher.step();
    both.disk.power_cut();
    both.publisher.drop_archiver();
    const auto retained = list_retained(both.discarded);
    REQUIRE(retained.ok());
    const auto& segments = retained->segments;
    was_partly_there = was_partly_there || (retained->oldest > 1 && !segments.empty());
    for (std::size_t i = 0; i < segments.size(); ++i) {
      CHECK(segments[i] == segments.front() + i);
      CHECK(both.disk.exists(both.discarded.path(segments[i], "sum")).value());
    }
  }
  CHECK(was_partly_there);
}

TEST_CASE("A publisher whose journal has failed records at its end the last published sequence") {
  SimDisk disk(kSimRoot, 1);
  SimWriteQueue queue(disk, {});
  ArchiveFixture publisher(disk, queue, {.root = kSimRoot});
  REQUIRE(publisher.begin(1, 1).ok());
  publisher.publish_all(500, 1);
  publisher.archiver().shed();
  publisher.step(1);
  publisher.publish_all(5000, 1);
  CHECK(read_published(publisher.files()).value() == kNoSequence);
  CHECK_FALSE(publisher.close().ok());
  CHECK(read_published(publisher.files()).value() == 5500);
  CHECK(read_retained_from(publisher.files()).value() == 1);
}

}  // namespace
}  // namespace lapwing
