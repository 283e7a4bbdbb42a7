#include "relay/in/start_point.h"

#include <catch2/catch.hpp>
#include <ostream>

#include "testing/relay_messages.h"

namespace lapwing {

inline bool operator==(const StartPoint& a, const StartPoint& b) {
  return a.session == b.session && a.oldest == b.oldest;
}
inline std::ostream& operator<<(std::ostream& out, const StartPoint& point) {
  return out << "session " << point.session << ", oldest " << point.oldest;
}

namespace {

// Segments of 1024 slots. Sessions: 1 to 1500; 1501 to 3000, with a void to 4000; from 4001 on.
std::vector<RelaySession> some_list() {
  std::vector<RelaySession> list = {some_session(1), cut_session(2), open_session(3)};
  for (RelaySession& session : list) session.segment_slots = 1'024;
  list[0].first = 1;
  list[0].last = 1'500;
  list[1].first = 1'501;
  list[1].last = 3'000;
  list[1].void_first = 3'001;
  list[1].void_last = 4'000;
  list[2].first = 4'001;
  return list;
}

RelayPosition newest(std::size_t session, Sequence sequence) {
  return {some_list()[session].session_id, sequence};
}

}  // namespace

TEST_CASE("A start begins with the oldest record that the origin has") {
  const auto start = [](Sequence oldest) {
    return start_point(RelayStart::kStart, some_list(), oldest, newest(2, 5'000));
  };
  CHECK(start(1) == StartPoint{0, 1});
  CHECK(start(1'025) == StartPoint{0, 1'025});  // session 1 ends in that segment
  CHECK(start(2'049) == StartPoint{1, 2'049});
  CHECK(start(3'073) == StartPoint{2, 3'073});  // what precedes session 3 there is void
  CHECK(start(4'097) == StartPoint{2, 4'097});
}

TEST_CASE("With several journals a start begins with the first listed session") {
  std::vector<RelaySession> list = some_list();
  list[1].journal_id = list[2].journal_id = id_of(9);
  const StartPoint point = start_point(RelayStart::kStart, list, 4'097, newest(2, 5'000));
  CHECK(point == StartPoint{0, 1});
}

TEST_CASE("A shortened list begins with the segment of its first session") {
  std::vector<RelaySession> list = some_list();
  list.erase(list.begin());
  const StartPoint point = start_point(RelayStart::kStart, list, 1, newest(2, 5'000));
  CHECK(point == StartPoint{0, 1'025});
}

TEST_CASE("A live start begins with the segment of the newest record that was sent") {
  const auto live = [](std::size_t session, Sequence sent) {
    return start_point(RelayStart::kLive, some_list(), 1, newest(session, sent));
  };
  CHECK(live(2, 5'121) == StartPoint{2, 5'121});
  CHECK(live(2, 5'120) == StartPoint{2, 5'121});  // the next one begins a segment
  CHECK(live(2, 4'500) == StartPoint{2, 4'097});
  CHECK(live(2, 4'050) == StartPoint{2, 3'073});
  CHECK(live(1, 1'600) == StartPoint{0, 1'025});
  CHECK(start_point(RelayStart::kLive, some_list(), 1, RelayPosition{}) == StartPoint{2, 3'073});
}

TEST_CASE("A start from a checkpoint begins with its segment") {
  const auto from = [](std::size_t session, Sequence sequence) {
    const RelayPosition position{some_list()[session].session_id, sequence};
    return start_point(RelayStart::kCheckpoint, some_list(), 1, newest(2, 5'000), position);
  };
  CHECK(from(2, 4'500) == StartPoint{2, 4'097});
  CHECK(from(0, 1'200) == StartPoint{0, 1'025});
  const StartPoint without =
      start_point(RelayStart::kCheckpoint, some_list(), 1'025, newest(2, 5'000));
  CHECK(without == StartPoint{0, 1'025});
  const RelayPosition unlisted{id_of(99), 4'500};
  CHECK(start_point(RelayStart::kCheckpoint, some_list(), 2'049, newest(2, 5'000), unlisted) ==
        StartPoint{1, 2'049});
}

}  // namespace lapwing
