// Subscribers and histories on the journal of a mirror that lacks records.
#include <catch2/catch.hpp>
#include <vector>

#include "lapwing/history.h"
#include "testing/bus_fixture.h"

namespace lapwing {
namespace {

// Records 129 to 1,000 and 1,281 to 4,000, in a ring of 1,024.
struct Mirror : TestBus {
  explicit Mirror(GapCause beginning, GapCause middle) {
    journal.is_mirror = true;
    start();
    pass_absent(128, beginning);
    publish(872);
    pass_absent(280, middle);
    publish(2'720);
  }
};

TEST_CASE("A range that the origin lacks is lost once, with its cause and its bounds") {
  const GapCause cause =
      GENERATE(GapCause::kPruned, GapCause::kDamaged, GapCause::kNotRelayed, GapCause::kUpstream);
  Mirror bus(GapCause::kPruned, cause);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"129..1000", absl::StrCat("lost 1001..1280 ", name_of(cause)),
                             "1281..4000", "caught-up 4000"});
  CHECK(trace.subscriber.counters().lost == 280);
}

TEST_CASE("An oldest start reports a beginning that was lost, but not one that was pruned") {
  const GapCause cause = GENERATE(GapCause::kDamaged, GapCause::kNotRelayed, GapCause::kUpstream);
  Mirror bus(cause, GapCause::kNotRelayed);
  Trace trace(bus, bus.options());
  REQUIRE(trace.until(EventKind::kCaughtUp));
  REQUIRE(trace.lines.size() > 2);
  CHECK(trace.lines[0] == absl::StrCat("lost 1..128 ", name_of(cause)));
  CHECK(trace.lines[1] == "129..1000");
}

TEST_CASE("A position in an absent range continues with the rest of it") {
  Mirror bus(GapCause::kPruned, GapCause::kNotRelayed);
  Trace trace(bus, bus.options(Start::after({JournalFixture::journal_id(), fixture_id(1), 1'100})));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  CHECK(trace.lines == Lines{"lost 1101..1280 not-relayed", "1281..4000", "caught-up 4000"});
}

TEST_CASE("A history returns an absent range as an event, and the records behind it") {
  Mirror bus(GapCause::kPruned, GapCause::kUpstream);
  bus.close();
  auto history = History::open(bus.directory());
  REQUIRE(history.ok());
  std::vector<std::byte> rows(56 * 100);
  const Result<Batch> lost = history->read(1'001, rows);
  REQUIRE(came(lost) == EventKind::kLost);
  CHECK(lost->event->gap.first == 1'001);
  CHECK(lost->event->gap.last == 1'280);
  CHECK(lost->event->gap.cause == GapCause::kUpstream);
  CHECK_THAT(lost->event->text, Catch::Contains("never archived by the origin"));
  const Result<Batch> after = history->read(1'281, rows);
  REQUIRE(came(after) == ItemKind::kRecord);
  CHECK(after->count == 100);
}

}  // namespace
}  // namespace lapwing
