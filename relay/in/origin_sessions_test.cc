#include "relay/in/origin_sessions.h"

#include <catch2/catch.hpp>

#include "lapwing/error.h"
#include "testing/relay_messages.h"
#include "testing/status_text.h"

namespace lapwing {
namespace {

using List = std::vector<RelaySession>;

// Session n with rows 3n and 3n + 2, and hashes that name its rows.
RelaySession ended(std::uint8_t number) {
  RelaySession session = some_session(number);
  session.begin_hash = 1'000 + session.begin_row;
  session.end_hash = 1'000 + session.end_row;
  return session;
}
RelaySession open(std::uint8_t number) {
  RelaySession session = open_session(number);
  session.begin_hash = 1'000 + session.begin_row;
  return session;
}

OriginSessions listed(const List& list) {
  OriginSessions sessions;
  REQUIRE(sessions.replace(list).ok());
  return sessions;
}

void check_foreign(const absl::Status& status, const std::string& what) {
  CHECK(errc_of(status) == Errc::kReset);
  CHECK(says(status, "foreign origin"));
  CHECK(says(status, what));
}

}  // namespace

TEST_CASE("A row fits if it is listed with the same hash") {
  const OriginSessions sessions = listed({ended(1), ended(2), open(3)});
  CHECK(sessions.row() == 9);
  CHECK(sessions.hash() == 1'009);
  CHECK(sessions.fit(9, 1'009) == SessionFit::kFits);
  CHECK(sessions.fit(8, 1'008) == SessionFit::kFits);  // sent before session 3 began
  CHECK(sessions.fit(3, 1'003) == SessionFit::kFits);
  CHECK(sessions.fit(9, 1'008) == SessionFit::kForeign);
  CHECK(sessions.fit(8, 1'009) == SessionFit::kForeign);
  CHECK(sessions.fit(10, 1'010) == SessionFit::kNewer);
  CHECK(sessions.fit(7, 1'007) == SessionFit::kUnknown);  // a reservation
  CHECK(sessions.fit(2, 1'002) == SessionFit::kUnknown);  // before the list
  CHECK(OriginSessions().fit(0, 5) == SessionFit::kNewer);
}

TEST_CASE("A later list adds sessions, ends the open one, and need not have old ones") {
  OriginSessions sessions = listed({ended(1), ended(2), open(3)});
  REQUIRE(sessions.replace({ended(2), ended(3), open(4)}).ok());
  CHECK(sessions.list().size() == 4);
  CHECK(sessions.position(open(4).session_id) == 3);
  CHECK(sessions.position(ended(1).session_id) == 0);
}

TEST_CASE("Rows that contain the newest session continue the list") {
  OriginSessions sessions = listed({ended(1), open(2)});
  CHECK(sessions.extend(List{ended(2), open(3)}, 9, 1'009));
  CHECK(sessions.list().size() == 3);
  CHECK(sessions.row() == 9);
  CHECK_FALSE(sessions.extend(List{ended(4), open(5)}, 15, 1'015));  // 3 is left out
  CHECK_FALSE(sessions.extend(List{open(3)}, 9, 1'010));             // not the sender's row
  CHECK_FALSE(sessions.extend(List{ended(2)}, 8, 1'008));            // older
  RelaySession other = ended(3);
  other.source_id += 1;
  CHECK_FALSE(sessions.extend(List{other}, 11, 1'011));
  CHECK_FALSE(OriginSessions().extend(List{open(1)}, 3, 1'003));
  CHECK(sessions.row() == 9);
  CHECK(sessions.extend(List{ended(3)}, 11, 1'011));
}

TEST_CASE("A list that comes late is ignored") {
  OriginSessions sessions = listed({ended(1), ended(2), open(3)});
  REQUIRE(sessions.replace({ended(1), open(2)}).ok());
  CHECK(sessions.list().size() == 3);
}

TEST_CASE("A list of another history is refused") {
  OriginSessions sessions = listed({ended(1), ended(2)});
  SECTION("another session in the same row") {
    RelaySession other = ended(2);
    other.session_id = id_of(77);
    check_foreign(sessions.replace({ended(1), other, open(3)}), "session");
  }
  SECTION("another hash of a begin row") {
    RelaySession other = ended(2);
    other.begin_hash = 5;
    check_foreign(sessions.replace({ended(1), other}), "session");
  }
  SECTION("another hash of an end row") {
    RelaySession other = ended(2);
    other.end_hash = 5;
    check_foreign(sessions.replace({ended(1), other}), "session");
  }
  SECTION("a session is left out") {
    check_foreign(sessions.replace({ended(1), open(3)}), "session");
  }
  SECTION("an earlier list of another history") {
    RelaySession other = open(2);
    other.begin_hash = 5;
    check_foreign(sessions.replace({ended(1), other}), "session");
  }
  SECTION("a session that had ended is open") {
    check_foreign(sessions.replace({open(2), open(3)}), "open again");
  }
  SECTION("an empty one") {
    check_foreign(sessions.replace({}), "no session");
  }
  CHECK(sessions.list().size() == 2);
}

TEST_CASE("The mirror's sessions are compared by value with those at the same place") {
  const OriginSessions sessions = listed({ended(1), cut_session(2), open(3)});
  const auto ours = [](const RelaySession& session) { return session; };
  const List mirror = {ours(ended(1)), ours(cut_session(2))};
  REQUIRE(sessions.locate(mirror).ok());
  CHECK(*sessions.locate(mirror) == 1);
  CHECK(*sessions.locate(List{ours(ended(1))}) == 0);
  CHECK(*sessions.locate(List{ours(open_session(2))}) == 1);           // has ended since
  CHECK(*sessions.locate(List{ours(ended(0)), ours(ended(1))}) == 0);  // the origin dropped one

  const auto refused = [&](const List& list, const std::string& what) {
    check_foreign(sessions.locate(list).status(), what);
  };
  refused({ours(ended(9))}, "does not list session");
  RelaySession other = ours(cut_session(2));
  other.void_last += 1;
  refused({ours(ended(1)), other}, "");
  other = ours(ended(1));
  other.source_id += 1;
  refused({other, ours(cut_session(2))}, "");
  refused({ours(ended(9)), ours(cut_session(2))}, "");
  refused({ours(ended(3))}, "is open at the origin");
}

TEST_CASE("Rows are gathered from several messages, which may come twice") {
  SessionGathering gathering;
  const List all = {ended(1), ended(2), open(3)};
  gathering.add(0, std::span(all).first(2));
  gathering.add(0, std::span(all).first(2));
  CHECK(gathering.next() == 2);
  gathering.add(3, std::span(all).last(1));  // a message between is lost
  CHECK(gathering.next() == 2);
  gathering.add(1, std::span(all).last(2));
  const auto list = gathering.take(9, 1'009);
  REQUIRE(list);
  CHECK(list->size() == 3);
  CHECK(gathering.next() == 0);
}

TEST_CASE("Rows that do not end with the row that their sender named are not a list") {
  SessionGathering gathering;
  const List some = {ended(1), ended(2)};
  gathering.add(0, some);
  CHECK_FALSE(gathering.take(9, 1'009));
  gathering.add(0, List{open(1), open(2)});  // of two answers
  CHECK_FALSE(gathering.take(6, 1'006));
  gathering.add(0, some);
  RelaySession changed = ended(2);
  changed.last += 1;
  gathering.add(1, List{changed});  // the origin's list has changed in between
  CHECK(gathering.next() == 0);
}

}  // namespace lapwing
