#include "snapshot/recovery/settle_decision.h"

#include <catch2/catch.hpp>

namespace lapwing {

TEST_CASE("Each row of the table applies to its case") {
  REQUIRE(decide({}) == SettleRow::kFresh);
  REQUIRE(decide({.has_session = true, .end = SessionEnd::kFailed}) == SettleRow::kReset);
  for (const SessionEnd end : {SessionEnd::kClosed, SessionEnd::kRecovered, SessionEnd::kCut}) {
    REQUIRE(decide({.has_session = true, .end = end}) == SettleRow::kContinue);
  }
  REQUIRE(decide({.has_session = true}) == SettleRow::kUnused);
  SettleFacts killed{.has_session = true,
                     .has_reservation = true,
                     .same_boot = true,
                     .has_ring = true,
                     .tail_is_whole = true};
  REQUIRE(decide(killed) == SettleRow::kRecover);
  killed.ring_failed = true;
  REQUIRE(decide(killed) == SettleRow::kFail);
  killed.ring_failed = false;
  killed.tail_is_whole = false;
  REQUIRE(decide(killed) == SettleRow::kCut);
  REQUIRE(decide({.has_session = true, .has_reservation = true, .same_boot = true}) ==
          SettleRow::kCut);
  REQUIRE(decide({.has_session = true,
                  .has_reservation = true,
                  .has_ring = true,
                  .tail_is_whole = true}) == SettleRow::kCut);
}

TEST_CASE(
    "In all combinations, damage refuses, and only a complete tail of this boot is recovered") {
  for (unsigned bits = 0; bits < 128; ++bits) {
    for (std::uint32_t end = 0; end <= 4; ++end) {
      const auto bit = [&](unsigned n) { return (bits >> n & 1) != 0; };
      const SettleFacts facts{
          bit(0), static_cast<SessionEnd>(end), bit(1), bit(2), bit(3), bit(4), bit(5), bit(6)};
      const SettleRow row = decide(facts);
      const bool open = facts.has_session && facts.end == SessionEnd::kNone;
      const bool published = open && facts.has_reservation && !facts.damaged;
      CHECK((row == SettleRow::kRefuse) == facts.damaged);
      CHECK((row == SettleRow::kRecover) == (published && facts.same_boot && facts.has_ring &&
                                             !facts.ring_failed && facts.tail_is_whole));
      CHECK((row == SettleRow::kCut || row == SettleRow::kRecover || row == SettleRow::kFail) ==
            published);
      if (row == SettleRow::kFail) CHECK((facts.ring_failed && facts.same_boot && facts.has_ring));
    }
  }
}

}  // namespace lapwing
