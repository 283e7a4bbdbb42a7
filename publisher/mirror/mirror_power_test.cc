// Kills and power cuts at each disk operation of a mirror. Then it continues with no void and no
// difference.
#include <catch2/catch.hpp>
#include <functional>

#include "snapshot/journal/absent_file.h"
#include "testing/mirror_fixture.h"

namespace lapwing {
namespace {

constexpr Sequence kAbsentFirst = 1101;
constexpr Sequence kAbsentLast = 1152;
constexpr Sequence kVoidLast = 2048;

// The origin's history, in the order in which a mirror gets it. Session 2 was cut at 1350 after it
// had published up to 1400.
struct History {
  RelaySession first = ended(origin_session(1, 1), 1300);
  RelaySession cut = ended(origin_session(2, 1301), 1350, SessionEnd::kCut, kVoidLast);
  RelaySession open = origin_session(3, kVoidLast + 1);
};
constexpr Sequence kCutPublished = 1400;
constexpr Sequence kNewest = kVoidLast + 200;

RelaySession still_open(const RelaySession& session) {
  return origin_session(session.session_id.bytes[0], session.first);
}

// Gives the mirror what it lacks up to `last`, in parts.
absl::Status catch_up(MirrorWriter& mirror, Sequence last) {
  absl::Status status;
  while (status.ok() && mirror.next() <= last) {
    const Sequence next = mirror.next();
    if (next == kAbsentFirst) {
      status = mirror.put_absent(kAbsentFirst, kAbsentLast, GapCause::kPruned, soon());
      continue;
    }
    Sequence end = std::min(last, next + 149);
    if (next < kAbsentFirst) end = std::min(end, kAbsentFirst - 1);
    status = put(mirror, next, end);
  }
  return status;
}

bool has_ended_here(const MirrorWriter& mirror, const RelaySession& session) {
  return std::ranges::any_of(mirror.sessions(), [&](const RelaySession& listed) {
    return listed.session_id == session.session_id && listed.how != SessionEnd::kNone;
  });
}

// Mirrors a session up to its end. `published`: what arrives before the origin's end is known.
absl::Status mirror_session(MirrorWriter& mirror, const RelaySession& session, Sequence published) {
  if (has_ended_here(mirror, session)) return absl::OkStatus();
  absl::Status status = mirror.begin(begin_of(still_open(session)));
  if (status.ok()) status = catch_up(mirror, published);
  return status.ok() ? mirror.end(session, soon()) : status;
}

absl::Status mirror_all(MirrorWriter& mirror, const History& history, Sequence cut_published) {
  set_durable(mirror, kAbsentLast);
  absl::Status status = mirror_session(mirror, history.first, history.first.last);
  if (status.ok()) status = mirror_session(mirror, history.cut, cut_published);
  if (status.ok()) status = mirror.begin(begin_of(history.open));
  if (status.ok()) status = catch_up(mirror, kNewest);
  if (!status.ok()) return status;
  set_durable(mirror, kNewest - 50, 3);
  status = mirror.flush((kNewest - 50) / kMirrorBlock * kMirrorBlock, soon());
  return status.ok() ? mirror.close(Deadline::now()) : status;
}

bool is_used(Sequence n) {
  return n < kAbsentFirst || (n > kAbsentLast && n <= 1350) || (n > kVoidLast && n <= kNewest);
}

// What holds after any kill and any power cut.
void check_left(MirrorFixture& fixture, const History& history) {
  fixture.check_slots();
  const auto sessions = fixture.sessions();
  if (errc_of(sessions.status()) == Errc::kNotFound) return;
  INFO(sessions.status());
  REQUIRE(sessions.ok());
  const RelaySession* const given[] = {&history.first, &history.cut, &history.open};
  REQUIRE(sessions->sessions().size() <= 3);
  Sequence proven_through = 0;
  for (std::size_t i = 0; i < sessions->sessions().size(); ++i) {
    const SessionRecord& listed = sessions->sessions()[i];
    REQUIRE(listed.begin.session_id == given[i]->session_id);
    if (!listed.end) continue;
    CHECK(listed.end->last == given[i]->last);
    CHECK(listed.end->void_last == given[i]->void_last);
    proven_through = listed.end->last;
  }
  const auto absent = read_absent(fixture.files());
  REQUIRE(absent.ok());
  if (!absent->empty()) {
    CHECK(*absent == std::vector<AbsentRange>{{kAbsentFirst, kAbsentLast, GapCause::kPruned}});
    proven_through = std::max(proven_through, kAbsentFirst - 1);
  }
  for (Sequence n = 1; n <= proven_through; ++n) {
    if (is_used(n) && !(fixture.holds(n) && fixture.proves(n))) {
      FAIL_CHECK("record " << n << " is not durable before an end or an absence");
    }
  }
  if (!absent->empty()) return;
  for (Sequence n = kAbsentLast + 1; n <= kNewest; ++n) {
    if (fixture.proves(n)) FAIL_CHECK("record " << n << " is durable behind an unlisted absence");
  }
}

// Continues after the stop, with what the origin then knows.
void continue_and_check(MirrorFixture& fixture, const History& history) {
  auto mirror = fixture.open();
  for (Sequence n = mirror->next(); n != 0 && n <= kNewest; ++n) {
    if (is_used(n) && fixture.proves(n)) FAIL_CHECK("record " << n << " is proven, and lacking");
  }
  const absl::Status done = mirror_all(*mirror, history, history.cut.last);
  INFO(done);
  REQUIRE(done.ok());
  mirror = fixture.open();
  const Sequence next = mirror->next();
  CHECK(next > (kNewest - 50) / kMirrorBlock * kMirrorBlock);
  REQUIRE(mirror->sessions().size() == 3);
  CHECK(session_difference(mirror->sessions()[0], history.first).empty());
  CHECK(session_difference(mirror->sessions()[1], history.cut).empty());
  CHECK(session_difference(mirror->sessions()[2], history.open).empty());
  CHECK(mirror->sessions()[2].how == SessionEnd::kNone);
  for (Sequence n = 1; n < next; ++n) {
    if (is_used(n) != fixture.holds(n)) FAIL_CHECK("record " << n);
  }
  fixture.check_slots();
}

// Mirrors everything until the disk stops after `operations`. True if it did not stop.
bool mirror_until(MirrorFixture& fixture, const History& history, std::uint64_t operations) {
  fixture.sim().stop_after(operations);
  auto mirror = fixture.try_open();
  if (mirror.ok()) mirror_all(**mirror, history, kCutPublished).IgnoreError();
  return !fixture.sim().stopped();
}

void sweep(const std::function<void(SimDisk&)>& end_machine, std::uint64_t step) {
  const History history;
  std::uint64_t stops = 0;
  for (std::uint64_t operations = 0;; operations += step) {
    INFO("stopped after " << operations << " operations");
    MirrorFixture fixture(operations + 1);
    const bool is_through = mirror_until(fixture, history, operations);
    end_machine(fixture.sim());
    check_left(fixture, history);
    continue_and_check(fixture, history);
    if (is_through) break;
    ++stops;
  }
  CHECK(stops * step > 100);
}

}  // namespace

TEST_CASE("A mirror that is killed at any disk operation continues with no void, no difference") {
  sweep([](SimDisk& disk) { disk.kill(); }, 3);
}

TEST_CASE("A mirror continues after a power cut at any disk operation") {
  sweep([](SimDisk& disk) { disk.power_cut(); }, 1);
}

}  // namespace lapwing
