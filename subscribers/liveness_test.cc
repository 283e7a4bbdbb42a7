#include "subscribers/liveness.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

Liveness by_records(std::uint32_t records) {
  SubscriberOptions options;
  options.behind_records = records;
  return Liveness(options);
}

Liveness by_time(std::uint64_t ns) {
  SubscriberOptions options;
  options.behind_time = std::chrono::nanoseconds(ns);
  return Liveness(options);
}

constexpr EventKind kNoChange{};

// The result of a look at a subscriber that has taken everything before `next`.
EventKind look(Liveness& liveness, Sequence next, Sequence head, std::uint64_t now_ns = 0,
               bool reads_ring = true) {
  const auto change = liveness.look({next, head, now_ns, reads_ring});
  return change ? change->kind : kNoChange;
}

TEST_CASE("Without a limit there is no event, and the usual upkeep is enough") {
  const Liveness liveness = by_records(0);
  CHECK_FALSE(liveness.is_told());
  CHECK_FALSE(liveness.is_awaited());
  CHECK(liveness.records_between_looks(4096) == 4096);
}

TEST_CASE("Checks happen at least every half of the limit, but not for every record") {
  CHECK(by_records(1000).records_between_looks(4096) == 500);
  CHECK(by_records(2).records_between_looks(4096) == 64);
  CHECK(by_records(100'000).records_between_looks(4096) == 4096);
  CHECK(by_time(1).records_between_looks(4096) == 256);
  SubscriberOptions both;
  both.behind_time = std::chrono::seconds(1);
  both.behind_records = 100'000;
  CHECK(Liveness(both).records_between_looks(4096) == 256);
  both.behind_records = 200;
  CHECK(Liveness(both).records_between_looks(4096) == 100);
}

TEST_CASE("A subscriber is live if it has taken everything, but not from the journal") {
  Liveness liveness = by_records(100);
  CHECK(liveness.is_awaited());
  CHECK(look(liveness, 11, 10, 0, /*reads_ring=*/false) == kNoChange);
  CHECK(look(liveness, 11, 10) == EventKind::kLive);
  CHECK_FALSE(liveness.is_awaited());
  CHECK(look(liveness, 11, 10) == kNoChange);
}

TEST_CASE("A subscriber is behind beyond the limit, and live again at half of it") {
  Liveness liveness = by_records(100);
  REQUIRE(look(liveness, 1, 0) == EventKind::kLive);
  CHECK(look(liveness, 11, 110) == kNoChange);
  const auto behind = liveness.look({11, 111, 0, true});
  REQUIRE(behind);
  CHECK(behind->kind == EventKind::kBehind);
  CHECK(behind->text == "101 records are published that were not taken; behind_records is 100");
  CHECK(look(liveness, 11, 111) == kNoChange);
  CHECK(look(liveness, 61, 111) == kNoChange);
  CHECK(look(liveness, 62, 111) == EventKind::kLive);
}

TEST_CASE("A gap and the end of a session end the live state, but other events do not") {
  const auto [kind, ends] = GENERATE(table<EventKind, bool>({{EventKind::kGap, true},
                                                             {EventKind::kLost, true},
                                                             {EventKind::kReset, true},
                                                             {EventKind::kPublisherGone, true},
                                                             {EventKind::kClosed, true},
                                                             {EventKind::kStale, false},
                                                             {EventKind::kSession, false}}));
  Liveness liveness = by_records(100);
  REQUIRE(look(liveness, 1, 0) == EventKind::kLive);
  liveness.end_at(kind);
  CHECK(liveness.is_awaited() == ends);
  CHECK(look(liveness, 1, 0) == (ends ? EventKind::kLive : kNoChange));
}

TEST_CASE("By time, a subscriber is behind if it has not taken what a check saw that long ago") {
  Liveness liveness = by_time(800);
  REQUIRE(look(liveness, 1, 0, 1000) == EventKind::kLive);
  CHECK(look(liveness, 1, 10, 1100) == kNoChange);
  CHECK(look(liveness, 10, 20, 1900) == kNoChange);  // record 10 has been available for 800 ns
  SECTION("by a nanosecond") {
    CHECK(look(liveness, 10, 20, 1901) == EventKind::kBehind);
  }
  SECTION("unless it is taken") {
    CHECK(look(liveness, 11, 20, 1901) == kNoChange);
    CHECK(look(liveness, 20, 20, 2700) == kNoChange);
    CHECK(look(liveness, 20, 20, 2701) == EventKind::kBehind);
  }
}

TEST_CASE("By time, a subscriber is live again if it takes what a check saw within half the time") {
  Liveness liveness = by_time(800);
  CHECK(look(liveness, 1, 1000, 1000) == kNoChange);
  CHECK(look(liveness, 500, 1500, 1100) == kNoChange);
  SECTION("soon enough") {
    CHECK(look(liveness, 1001, 1600, 1400) == EventKind::kLive);
  }
  SECTION("too late, and at the next time") {
    CHECK(look(liveness, 1001, 1600, 1401) == kNoChange);
    CHECK(look(liveness, 1501, 1700, 1500) == EventKind::kLive);
  }
  SECTION("or everything") {
    CHECK(look(liveness, 1601, 1600, 5000) == EventKind::kLive);
  }
}

TEST_CASE("By time, records seen before it was live again do not count") {
  Liveness liveness = by_time(800);
  CHECK(look(liveness, 1, 1000, 1000) == kNoChange);
  CHECK(look(liveness, 500, 1500, 1100) == kNoChange);
  REQUIRE(look(liveness, 1001, 1600, 1400) == EventKind::kLive);
  CHECK(look(liveness, 1001, 1700, 1901) == kNoChange);
  CHECK(look(liveness, 1001, 1700, 2200) == kNoChange);
  CHECK(look(liveness, 1001, 1700, 2201) == EventKind::kBehind);
}

TEST_CASE("By time, many checks in a row leave room to note later records") {
  Liveness liveness = by_time(800);
  REQUIRE(look(liveness, 1, 0, 0) == EventKind::kLive);
  for (std::uint64_t at_ns = 1; at_ns <= 8; ++at_ns) {
    CHECK(look(liveness, 1, at_ns, at_ns) == kNoChange);
  }
  CHECK(look(liveness, 1, 100, 101) == kNoChange);
  CHECK(look(liveness, 9, 100, 850) == kNoChange);
  CHECK(look(liveness, 9, 100, 901) == kNoChange);
  CHECK(look(liveness, 9, 100, 902) == EventKind::kBehind);
}

TEST_CASE("With both limits, either makes it behind, and live again requires both") {
  SubscriberOptions options;
  options.behind_records = 100;
  options.behind_time = std::chrono::nanoseconds(800);
  Liveness liveness(options);
  REQUIRE(look(liveness, 1, 0, 1000) == EventKind::kLive);
  REQUIRE(look(liveness, 1, 50, 1100) == kNoChange);
  CHECK(look(liveness, 50, 60, 1901) == EventKind::kBehind);  // by time
  CHECK(look(liveness, 61, 110, 1950) == EventKind::kLive);   // 60 reached within 50 ns, 50 to take
  CHECK(look(liveness, 61, 161, 1960) == EventKind::kBehind);  // by records
  CHECK(look(liveness, 112, 161, 1970) == kNoChange);          // reached_ was noted before that
  CHECK(look(liveness, 112, 161, 2800) == kNoChange);          // 161, noted at 1960, is not reached
}

TEST_CASE("The message about a time contains the records and the limit") {
  Liveness liveness = by_time(2000);
  REQUIRE(look(liveness, 1, 0, 0) == EventKind::kLive);
  REQUIRE(look(liveness, 1, 7, 1000) == kNoChange);
  const auto behind = liveness.look({3, 9, 6000, true});
  REQUIRE(behind);
  CHECK(behind->text ==
        "of 7 records that were not taken, the oldest has been there for 5 us or more; behind_time "
        "is 2 us");
}

}  // namespace
}  // namespace lapwing
