#include "relay/in/missing.h"

#include <catch2/catch.hpp>
#include <ostream>

#include "testing/sim_disk.h"

namespace lapwing {

inline std::ostream& operator<<(std::ostream& out, const RelayRange& range) {
  return out << range.first << "-" << range.last;
}

namespace {

constexpr std::uint64_t kStart = 1'000'000'000;
constexpr std::uint64_t kDue = kStart + Missing::kGraceNs;
constexpr std::uint64_t kLater = kDue + Missing::kMirrorsHaveNs;
constexpr MissingOptions kNoStream{.stream = false};
using Ranges = std::vector<RelayRange>;

RelayAbsent absent(Sequence first, Sequence last, RelayAbsence cause = RelayAbsence::kPruned) {
  return {first, last, cause, 0};
}

// The next ask, which must exist.
Missing::Ask ask(Missing& missing, std::uint64_t now_ns, std::uint64_t records_max = 1'000) {
  const auto next = missing.next_ask(records_max, 1, now_ns);
  REQUIRE(next);
  return *next;
}

// The origin's answer for the whole range, after the mirrors were silent.
void let_origin_answer(Missing& missing, const RelayAbsent& answer, std::uint64_t now_ns) {
  missing.unanswered(ask(missing, now_ns), now_ns);
  const Missing::Ask to_origin = ask(missing, now_ns);
  REQUIRE(to_origin.to == RelayAskee::kOrigin);
  missing.gone(answer, now_ns);
  missing.answered(to_origin, RelayOutcome::kOk, now_ns);
}

}  // namespace

TEST_CASE("Only what is not wanted yet is wanted anew") {
  Missing missing(kNoStream);
  missing.want({10, 20}, kStart);
  missing.want({30, 40}, kStart);
  missing.want({1, 50}, kStart + 7);
  CHECK(missing.ranges() == Ranges{{1, 50}});
  missing.have({15, 33}, kDue);
  CHECK(missing.ranges() == Ranges{{1, 14}, {34, 50}});
  missing.have({1, 50}, kDue);
  CHECK(missing.empty());
  CHECK(missing.first() == kNoSequence);
  CHECK_FALSE(missing.next_due_ns());
}

TEST_CASE("Nothing is fetched before a message of another subject may have come") {
  Missing missing({});
  missing.want({5, 9}, kStart);
  CHECK_FALSE(missing.for_stream(kDue - 1));
  CHECK(missing.for_stream(kDue) == RelayRange{5, 9});
  CHECK(missing.next_due_ns() == kDue);
}

TEST_CASE("A range goes to the stream, to the mirrors and to the origin") {
  Missing missing({});
  missing.want({5, 9}, kStart);
  CHECK_FALSE(missing.next_ask(100, 1, kDue));
  missing.stream_lacks({5, 7}, kDue);
  CHECK(missing.for_stream(kDue) == RelayRange{8, 9});
  const Missing::Ask to_mirrors = ask(missing, kDue);
  CHECK(to_mirrors.range == RelayRange{5, 7});
  CHECK(to_mirrors.to == RelayAskee::kMirrors);
  CHECK_FALSE(missing.next_ask(100, 1, kDue));  // it is in flight
  SECTION("the mirrors are silent") {
    missing.unanswered(to_mirrors, kDue);
  }
  SECTION("they do not have it") {
    missing.answered(to_mirrors, RelayOutcome::kNotHere, kDue);
  }
  const Missing::Ask to_origin = ask(missing, kDue);
  CHECK(to_origin.range == RelayRange{5, 7});
  CHECK(to_origin.to == RelayAskee::kOrigin);
}

TEST_CASE("An ask is for a limited number of records") {
  Missing missing(kNoStream);
  missing.want({1, 250}, kStart);
  CHECK(ask(missing, kDue, 100).range == RelayRange{1, 100});
  CHECK(ask(missing, kDue, 100).range == RelayRange{101, 200});
  CHECK(ask(missing, kDue, 100).range == RelayRange{201, 250});
  CHECK_FALSE(missing.next_ask(100, 1, kDue));
}

TEST_CASE("What is missing of an answer is asked for again") {
  Missing missing(kNoStream);
  missing.want({1, 100}, kStart);
  const Missing::Ask first = ask(missing, kDue);
  missing.have({1, 40}, kDue);
  SECTION("soon, if there is more") {
    missing.answered(first, RelayOutcome::kPartly, kDue);
    const Missing::Ask next = ask(missing, kDue + Missing::kMoreNs);
    CHECK(next.range == RelayRange{41, 100});
    CHECK(next.to == RelayAskee::kMirrors);
  }
  SECTION("later, of a busy host") {
    missing.answered(first, RelayOutcome::kBusy, kDue);
    CHECK_FALSE(missing.next_ask(1'000, 1, kDue));
    CHECK(ask(missing, kDue + Missing::kAgainNs).range == RelayRange{41, 100});
  }
  SECTION("of the origin, if the answer was lost on its way") {
    missing.answered(first, RelayOutcome::kOk, kDue);
    const Missing::Ask next = ask(missing, kDue);
    CHECK(next.range == RelayRange{41, 100});
    CHECK(next.to == RelayAskee::kOrigin);
  }
}

TEST_CASE("Silence is not an answer") {
  Missing missing(kNoStream);
  missing.want({1, 10}, kStart);
  std::uint64_t now_ns = kDue;
  for (int i = 0; i < 1'000; ++i) {
    const auto next = missing.next_ask(100, 1, now_ns);
    REQUIRE(next);
    missing.unanswered(*next, now_ns += 1'000'000'000);
    REQUIRE_FALSE(missing.absent(now_ns));
  }
}

TEST_CASE("If nobody has it now, they are asked after pauses that grow, and nothing is absent") {
  Missing missing(kNoStream);
  missing.want({1, 10}, kStart);
  std::uint64_t now_ns = kDue;
  for (std::uint64_t pause_ns = Missing::kAgainNs; pause_ns < 2'000'000'000; pause_ns *= 2) {
    missing.unanswered(ask(missing, now_ns), now_ns);
    missing.answered(ask(missing, now_ns), RelayOutcome::kNotHere, now_ns);
    CHECK_FALSE(missing.next_ask(100, 1, now_ns + pause_ns - 1));
    now_ns += pause_ns;
  }
  CHECK(ask(missing, now_ns).to == RelayAskee::kMirrors);
  CHECK_FALSE(missing.absent(now_ns + kLater));
}

TEST_CASE("Nothing is absent while the stream cannot be read") {
  Missing missing({});
  missing.want({1, 100}, kStart);
  missing.stream_is_unreachable(kDue);
  let_origin_answer(missing, absent(1, 100), kDue);
  missing.unanswered(ask(missing, kDue), kDue);
  CHECK_FALSE(missing.absent(kLater + 1'000'000'000'000));
  CHECK(missing.for_stream(kLater) == RelayRange{1, 100});
  SECTION("and the stream may have it") {
    missing.have({1, 100}, kLater);
    CHECK(missing.empty());
  }
  SECTION("until there is evidence") {
    missing.stream_lacks({1, 60}, kLater);
    REQUIRE(missing.absent(kLater));
    CHECK(missing.absent(kLater)->last == 60);
    CHECK(missing.for_stream(kLater) == RelayRange{61, 100});
  }
}

TEST_CASE("An ask ends with a block if it can") {
  Missing missing(kNoStream);
  missing.want({10, 1'000}, kStart);
  CHECK(missing.next_ask(300, 128, kDue)->range == RelayRange{10, 256});
  CHECK(missing.next_ask(300, 128, kDue)->range == RelayRange{257, 512});
  CHECK(missing.next_ask(100, 128, kDue)->range == RelayRange{513, 612});
}

TEST_CASE("A range is absent once the origin has answered and no mirror has it for 2 s") {
  Missing missing(kNoStream);
  missing.want({1, 100}, kStart);
  let_origin_answer(missing, absent(1, 60, RelayAbsence::kDamaged), kDue);
  CHECK_FALSE(missing.absent(kLater));  // no mirror was asked yet
  const Missing::Ask mirrors = ask(missing, kDue);
  CHECK(mirrors.range == RelayRange{1, 60});
  CHECK(mirrors.to == RelayAskee::kMirrors);
  SECTION("silent mirrors") {
    missing.unanswered(mirrors, kDue + 5);
  }
  SECTION("mirrors that lack it too") {
    missing.answered(mirrors, RelayOutcome::kNotHere, kDue + 5);
  }
  CHECK_FALSE(missing.absent(kLater - 1));
  const auto decided = missing.absent(kLater);
  REQUIRE(decided);
  CHECK(decided->first == 1);
  CHECK(decided->last == 60);
  CHECK(decided->cause == GapCause::kDamaged);
  missing.have({1, 60}, kDue);
  CHECK_FALSE(missing.absent(kLater));
}

TEST_CASE("A mirror that has what the origin lost fills the range") {
  Missing missing(kNoStream);
  missing.want({1, 100}, kStart);
  let_origin_answer(missing, absent(1, 100), kDue);
  const Missing::Ask mirrors = ask(missing, kDue);
  missing.have({1, 80}, kDue);
  missing.answered(mirrors, RelayOutcome::kOk, kDue + 5);
  const auto decided = missing.absent(kLater);
  REQUIRE(decided);
  CHECK(decided->first == 81);
  CHECK(decided->last == 100);
}

TEST_CASE("Mirrors are asked again until the 2 s have passed") {
  Missing missing(kNoStream);
  missing.want({1, 100}, kStart);
  let_origin_answer(missing, absent(1, 100), kDue);
  int asks = 0;
  for (std::uint64_t now_ns = kDue; now_ns < kLater + 10 * Missing::kAgainNs;
       now_ns += Missing::kAgainNs) {
    const auto next = missing.next_ask(1'000, 1, now_ns);
    if (!next) continue;
    ++asks;
    REQUIRE(now_ns < kLater);
    REQUIRE(next->to == RelayAskee::kMirrors);
    if (asks % 2 == 0) missing.unanswered(*next, now_ns);
    if (asks % 2 == 1) missing.answered(*next, RelayOutcome::kNotHere, now_ns);
  }
  CHECK(asks >= 10);
  CHECK(missing.absent(kLater));
}

TEST_CASE("A busy mirror has 2 s more") {
  Missing missing(kNoStream);
  missing.want({1, 100}, kStart);
  let_origin_answer(missing, absent(1, 100), kDue);
  missing.answered(ask(missing, kDue), RelayOutcome::kBusy, kLater - 1);
  CHECK_FALSE(missing.absent(kLater));
  const std::uint64_t again_ns = kLater - 1 + Missing::kAgainNs;
  CHECK(ask(missing, again_ns).to == RelayAskee::kMirrors);
  CHECK_FALSE(missing.absent(again_ns));
  CHECK(missing.absent(kLater - 1 + Missing::kMirrorsHaveNs));
}

TEST_CASE("Neighbours that are absent for the same cause are one range") {
  Missing missing(kNoStream);
  missing.want({1, 100}, kStart);
  missing.unanswered(ask(missing, kDue, 100), kDue);
  const Missing::Ask first = ask(missing, kDue, 50);
  const Missing::Ask second = ask(missing, kDue, 50);
  REQUIRE(second.to == RelayAskee::kOrigin);
  missing.gone(absent(1, 50), kDue);
  missing.gone(absent(51, 80), kDue);
  missing.gone(absent(81, 100, RelayAbsence::kNeverArchived), kDue);
  missing.answered(first, RelayOutcome::kOk, kDue);
  missing.answered(second, RelayOutcome::kOk, kDue);
  while (const auto next = missing.next_ask(1'000, 1, kDue)) {
    missing.answered(*next, RelayOutcome::kNotHere, kDue);
  }
  const auto decided = missing.absent(kLater);
  REQUIRE(decided);
  CHECK(decided->first == 1);
  CHECK(decided->last == 80);
}

TEST_CASE("A range that the origin was not asked about is not gone") {
  Missing missing(kNoStream);
  missing.want({10, 20}, kStart);
  missing.gone(absent(1, 9), kDue);
  missing.gone(absent(15, 500), kDue);
  CHECK(missing.ranges() == Ranges{{10, 20}});
  while (const auto next = missing.next_ask(1'000, 1, kDue)) {
    if (next->to == RelayAskee::kOrigin) continue;
    missing.answered(*next, RelayOutcome::kNotHere, kDue);
  }
  CHECK_FALSE(missing.absent(kLater));  // 10 to 14 come first
  missing.have({10, 14}, kDue);
  CHECK(missing.absent(kLater)->first == 15);
  CHECK(missing.absent(kLater)->last == 20);
}

TEST_CASE("With give-up a range is absent after that time") {
  Missing missing({.stream = false, .give_up_ns = 10'000'000'000});
  missing.want({2, 10}, kStart);
  CHECK_FALSE(missing.absent(kStart + 9'999'999'999));
  CHECK(missing.next_due_ns() <= kStart + 10'000'000'000);
  SECTION("without progress") {
    missing.want({20, 20}, kStart);
    missing.have({20, 20}, kStart + 5'000'000'000);  // behind it
  }
  SECTION("from the last progress on") {
    missing.want({1, 1}, kStart);
    missing.have({1, 1}, kStart + 5'000'000'000);
    CHECK_FALSE(missing.absent(kStart + 14'999'999'999));
    CHECK(missing.absent(kStart + 15'000'000'000));
    return;
  }
  const auto decided = missing.absent(kStart + 10'000'000'000);
  REQUIRE(decided);
  CHECK(decided->last == 10);
  CHECK(decided->cause == GapCause::kNotRelayed);
}

TEST_CASE("Another stream is searched for everything") {
  Missing missing({});
  missing.want({1, 30}, kStart);
  missing.stream_lacks({1, 30}, kDue);
  missing.gone(absent(1, 10), kDue);
  CHECK_FALSE(missing.for_stream(kDue));
  missing.try_stream_again(kDue);
  CHECK(missing.for_stream(kDue) == RelayRange{1, 10});
  missing.stream_lacks({1, 10}, kDue);
  CHECK(missing.for_stream(kDue) == RelayRange{11, 30});
}

// Whatever the hosts do, a range ends: it is had or absent, and absent only if it is gone.
TEST_CASE("Ranges end as the hosts can answer, whatever is lost on the way") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    SimRandom random(seed);
    Missing missing({.stream = random.chance(50)});
    const Sequence last = 1 + random.below(400);
    const Sequence gone_first = 1 + random.below(last);
    const Sequence gone_last = gone_first + random.below(last - gone_first + 1);
    const bool mirrors_have_it = random.chance(30);
    std::uint64_t now_ns = kStart;
    missing.want({1, last}, now_ns);
    Sequence next = 1;
    std::uint64_t absent_records = 0;
    const auto give = [&](const RelayRange& range, bool has_all) {
      for (Sequence n = range.first; n <= range.last; ++n) {
        const bool is_gone = n >= gone_first && n <= gone_last;
        if (!has_all && is_gone) continue;
        if (random.chance(80)) missing.have({n, n}, kDue);
      }
    };
    for (int round = 0; !missing.empty(); ++round) {
      REQUIRE(round < 100'000);
      now_ns += random.below(200'000'000);
      if (const auto range = missing.for_stream(now_ns)) missing.stream_lacks(*range, now_ns);
      if (const auto next_ask = missing.next_ask(1 + random.below(64), 1, now_ns)) {
        const bool to_origin = next_ask->to == RelayAskee::kOrigin;
        if (random.chance(30)) {
          missing.unanswered(*next_ask, now_ns);
        } else if (to_origin) {
          give(next_ask->range, false);
          missing.gone(absent(gone_first, gone_last), now_ns);
          missing.answered(*next_ask, RelayOutcome::kOk, now_ns);
        } else {
          if (mirrors_have_it) give(next_ask->range, true);
          missing.answered(*next_ask, mirrors_have_it ? RelayOutcome::kOk : RelayOutcome::kNotHere,
                           now_ns);
        }
      }
      if (const auto decided = missing.absent(now_ns)) {
        REQUIRE(decided->first >= gone_first);
        REQUIRE(decided->last <= gone_last);
        absent_records += decided->last - decided->first + 1;
        missing.have({decided->first, decided->last}, kDue);
      }
      next = std::max(next, missing.first());
    }
    if (!mirrors_have_it) CHECK(absent_records == gone_last - gone_first + 1);
  }
}

}  // namespace lapwing
