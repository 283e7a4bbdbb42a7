#include "relay/in/applier.h"

#include <catch2/catch.hpp>
#include <functional>
#include <ostream>

#include "testing/relay_messages.h"

namespace lapwing {

inline std::ostream& operator<<(std::ostream& out, MessageVerdict verdict) {
  return out << static_cast<int>(verdict);
}

namespace {

OriginSessions some_sessions(const RelaySession& newest = open_session(3)) {
  OriginSessions sessions;
  REQUIRE(sessions.replace({some_session(1), cut_session(2), newest}).ok());
  return sessions;
}

// Ten records of a session, by a sender that lists the newest one.
RelayHeader header_of(const RelaySession& session, Sequence first,
                      const RelaySession& newest = open_session(3)) {
  RelayHeader header{};
  header.kind = RelayKind::kRecords;
  header.journal_id = session.journal_id;
  header.session_id = session.session_id;
  header.first = first;
  header.count = 10;
  header.record_bytes = session.record_bytes;
  header.schema_hash = session.schema_hash;
  header.session_row = newest.how == SessionEnd::kNone ? newest.begin_row : newest.end_row;
  header.session_hash = newest.how == SessionEnd::kNone ? newest.begin_hash : newest.end_hash;
  return header;
}

// In session 3, whose first sequence is 3001.
constexpr MirrorPlace kPlace{.session = 2, .next = 3'100};

void check_refused(const std::function<void(RelayHeader&)>& change, const std::string& reason) {
  RelayHeader header = header_of(open_session(3), 3'100);
  change(header);
  const Judgement judgement = judge(header, some_sessions(), kPlace);
  INFO(judgement.reason);
  CHECK(judgement.verdict == MessageVerdict::kRefused);
  CHECK(judgement.reason.find(reason) != std::string::npos);
}

}  // namespace

TEST_CASE("A message is put, held or ignored by its place") {
  const OriginSessions sessions = some_sessions();
  const auto verdict = [&](const RelaySession& session, Sequence first) {
    return judge(header_of(session, first), sessions, kPlace).verdict;
  };
  const RelaySession newest = open_session(3);
  CHECK(verdict(newest, 3'100) == MessageVerdict::kPut);
  CHECK(verdict(newest, 3'095) == MessageVerdict::kPut);
  CHECK(verdict(newest, 3'001) == MessageVerdict::kPut);  // to be compared
  CHECK(verdict(newest, 3'101) == MessageVerdict::kAhead);
  CHECK(verdict(some_session(1), 1'500) == MessageVerdict::kEarlier);
  const MirrorPlace earlier{.session = 0, .next = 1'500};
  const Judgement later = judge(header_of(newest, 3'001), sessions, earlier);
  CHECK(later.verdict == MessageVerdict::kLater);
  CHECK(later.session == 2);
}

TEST_CASE("A message of a sender that lists more sessions waits for them") {
  RelayHeader header = header_of(open_session(4), 4'001, open_session(4));
  CHECK(judge(header, some_sessions(), kPlace).verdict == MessageVerdict::kSessions);
  CHECK(judge(header, OriginSessions(), kPlace).verdict == MessageVerdict::kSessions);
}

TEST_CASE("A message that was sent before a session ended still fits") {
  const RelayHeader header = header_of(open_session(3), 3'100);
  CHECK(judge(header, some_sessions(some_session(3)), kPlace).verdict == MessageVerdict::kPut);
}

TEST_CASE("A message that does not fit is refused") {
  check_refused([](RelayHeader& h) { h.session_hash ^= 1; }, "foreign");
  check_refused([](RelayHeader& h) { h.session_row = 7; }, "not listed");
  check_refused([](RelayHeader& h) { h.session_id = id_of(99); }, "not listed");
  check_refused([](RelayHeader& h) { h.journal_id = id_of(99); }, "its journal is");
  check_refused([](RelayHeader& h) { h.record_bytes = 64; }, "have 64 bytes");
  check_refused([](RelayHeader& h) { h.schema_hash = 99; }, "another description");
  check_refused([](RelayHeader& h) { h.first = 2'995; }, "its session at 3001");
  check_refused(
      [](RelayHeader& h) {
        h.session_row = cut_session(2).end_row;
        h.session_hash = cut_session(2).end_hash;
      },
      "did not list its session");
}

TEST_CASE("A message that reaches behind the end of its session is refused") {
  const OriginSessions sessions = some_sessions();
  // Session 2 was cut at 2500.
  CHECK(judge(header_of(cut_session(2), 2'491), sessions, {1, 2'491}).verdict ==
        MessageVerdict::kPut);
  const Judgement lost = judge(header_of(cut_session(2), 2'492), sessions, {1, 2'492});
  CHECK(lost.verdict == MessageVerdict::kRefused);
  CHECK(lost.reason == "it ends at sequence 2501, its session at 2500");
}

TEST_CASE("A message that was sent before a power cut is used up to what the origin kept") {
  OriginSessions sessions;
  REQUIRE(sessions.replace({some_session(1), cut_session(2)}).ok());
  RelayHeader header = header_of(cut_session(2), 2'495, open_session(2));
  CHECK(judge(header, sessions, {1, 2'495}).verdict == MessageVerdict::kPut);
  header.first = 2'501;
  CHECK(judge(header, sessions, {1, 2'495}).verdict == MessageVerdict::kRefused);
}

TEST_CASE("Records of a failed journal continue behind its end") {
  RelaySession failed = some_session(3);
  failed.how = SessionEnd::kFailed;
  failed.last = 3'050;
  const OriginSessions sessions = some_sessions(failed);
  const RelayHeader header = header_of(failed, 3'100, failed);
  CHECK(judge(header, sessions, kPlace).verdict == MessageVerdict::kPut);
  CHECK(continues_unarchived(failed));
}

}  // namespace lapwing
