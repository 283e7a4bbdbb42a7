#include "relay/in/beat_watch.h"

#include <catch2/catch.hpp>

#include "testing/relay_messages.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kNow = 100'000'000'000;

RelayHeader header_at(std::uint64_t time_ns) {
  RelayHeader header{};
  header.journal_id = id_of(1);
  header.session_id = id_of(2);
  header.head = 5'000;
  header.durable = 4'000;
  header.time_ns = time_ns;
  return header;
}

}  // namespace

TEST_CASE("A beat shows the state of the origin") {
  BeatWatch watch;
  CHECK(watch.stale_reason(kNow, "") == "no beat of the origin has been received");
  CHECK(watch.stale_reason(kNow, "not connected") == "not connected");
  REQUIRE(watch.beat(header_at(50), some_beat(), kNow));
  CHECK(watch.origin().head == 5'000);
  CHECK(watch.origin().durable == 4'000);
  CHECK(watch.origin().beat_monotonic_ns == kNow);
  CHECK(watch.origin().publisher == RelayPublisherState::kAlive);
  CHECK(watch.last_beat().sent == 4'900);
  CHECK(watch.stale_reason(kNow, "").empty());
}

TEST_CASE("Three missed beats make the mirror stale, with the reason") {
  BeatWatch watch;
  watch.beat(header_at(50), some_beat(), kNow);
  CHECK(watch.next_due_ns(kNow) == kNow + kBeatsMissedNs);
  CHECK(watch.stale_reason(kNow + kBeatsMissedNs - 1, "cut").empty());
  CHECK(watch.stale_reason(kNow + kBeatsMissedNs, "") == "no beat of the origin for 750 ms");
  CHECK(watch.stale_reason(kNow + kBeatsMissedNs, "cut") == "cut");
  CHECK_FALSE(watch.next_due_ns(kNow + kBeatsMissedNs));
  static_assert(kBeatsMissedNs < 1'000'000'000, "readers are told within one second");
}

TEST_CASE("An origin whose publisher does not live is not live") {
  const auto reason = [](RelayPublisherState state) {
    BeatWatch watch;
    RelayBeat beat = some_beat();
    beat.publisher = state;
    watch.beat(header_at(50), beat, kNow);
    return watch.stale_reason(kNow, "");
  };
  CHECK(reason(RelayPublisherState::kSilent) == "the origin's publisher is silent");
  CHECK(reason(RelayPublisherState::kClosed) == "the origin's publisher has closed");
  CHECK(reason(RelayPublisherState::kDead) == "the origin's publisher has ended without closing");
}

TEST_CASE("A beat that another one has overtaken is ignored") {
  BeatWatch watch;
  watch.beat(header_at(2'000), some_beat(), kNow);
  RelayBeat older = some_beat();
  older.sent = 7;
  CHECK_FALSE(watch.beat(header_at(1'999), older, kNow + 5));
  CHECK(watch.last_beat().sent == 4'900);
  CHECK(watch.beat(header_at(2'000), some_beat(), kNow + 6));
  CHECK(watch.origin().beat_monotonic_ns == kNow + 6);
}

TEST_CASE("What was sent is the newest, or a head that stands still") {
  BeatWatch watch;
  CHECK(watch.newest(id_of(2), kNow) == 0);
  RelayBeat beat = some_beat();
  watch.beat(header_at(50), beat, kNow);
  CHECK(watch.newest(id_of(2), kNow) == 4'900);
  CHECK(watch.newest(id_of(3), kNow) == 0);
  CHECK(watch.newest().sequence == 4'900);
  beat.sent = 0;  // the sender has just begun
  beat.sent_session = {};
  watch.beat(header_at(60), beat, kNow + 5);
  CHECK(watch.newest(id_of(2), kNow + BeatWatch::kHeadStillNs - 1) == 0);
  CHECK(watch.newest(id_of(2), kNow + BeatWatch::kHeadStillNs) == 5'000);
  CHECK(watch.newest(id_of(3), kNow + BeatWatch::kHeadStillNs) == 0);
  CHECK(watch.newest().sequence == 5'000);
  CHECK(watch.newest().session_id == id_of(2));
  RelayHeader moved = header_at(70);
  moved.head = 5'001;
  watch.beat(moved, beat, kNow + BeatWatch::kHeadStillNs);
  CHECK(watch.newest(id_of(2), kNow + BeatWatch::kHeadStillNs) == 0);
}

TEST_CASE("A clock that is set back does not silence the origin") {
  BeatWatch watch;
  watch.beat(header_at(3'600'000'000'000), some_beat(), kNow);
  CHECK(watch.beat(header_at(1), some_beat(), kNow + 5));
  CHECK(watch.beat(header_at(2), some_beat(), kNow + 6));
}

}  // namespace lapwing
