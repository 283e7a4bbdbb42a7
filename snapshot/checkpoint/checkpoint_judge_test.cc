#include "snapshot/checkpoint/checkpoint_judge.h"

#include <catch2/catch.hpp>

#include "lapwing/error.h"
#include "testing/checkpoint_fixture.h"

namespace lapwing {
namespace {

const Id128 kJournal = checkpoint_fixture_id(7);
const Id128 kOtherJournal = checkpoint_fixture_id(8);

SessionRecord session(const Id128& journal, std::uint8_t tag, Sequence first,
                      std::optional<Sequence> last = std::nullopt) {
  SessionRecord record{};
  record.begin.journal_id = journal;
  record.begin.session_id = checkpoint_fixture_id(tag);
  record.begin.first = first;
  if (last) {
    record.end.emplace();
    record.end->last = *last;
  }
  return record;
}

std::string verdict(const Id128& journal, std::uint8_t tag, Sequence sequence, Sequence durable) {
  const std::vector<SessionRecord> sessions{
      session(kOtherJournal, 1, 1, 900),  // failed; the bus began a new journal
      session(kJournal, 2, 1, 100), session(kJournal, 3, 101, 150),  // a cut: 151 to 200 are a void
      session(kJournal, 4, 201),                                     // still running
  };
  const absl::Status status =
      judge_position({journal, checkpoint_fixture_id(tag), sequence}, sessions, kJournal, durable);
  REQUIRE((status.ok() || errc_of(status) == Errc::kReset));
  return std::string(status.message());
}

TEST_CASE("A record of a session that the journal lists, and that is durable, is accepted") {
  REQUIRE(verdict(kJournal, 2, 1, 300).empty());
  REQUIRE(verdict(kJournal, 2, 100, 300).empty());
  REQUIRE(verdict(kJournal, 3, 150, 150).empty());
  REQUIRE(verdict(kJournal, 4, 201, 300).empty());
  REQUIRE(verdict(kJournal, 4, 300, 300).empty());
}

TEST_CASE("A position that the journal does not contain is refused, and the reason is named") {
  using Catch::Contains;
  CHECK_THAT(verdict(kOtherJournal, 2, 50, 300),
             Contains("of another bus, or from before a reset"));
  CHECK_THAT(verdict(kOtherJournal, 1, 50, 300),
             Contains("of another bus, or from before a reset"));
  CHECK_THAT(verdict(kJournal, 5, 50, 300), Contains("which this journal does not list"));
  // A session on the same bus, but in the previous journal.
  CHECK_THAT(verdict(kJournal, 1, 50, 300), Contains("which this journal does not list"));
  CHECK_THAT(verdict(kJournal, 3, 100, 300), Contains("before its session's first, 101"));
  CHECK_THAT(verdict(kJournal, 2, 101, 300), Contains("beyond its session's end, 100"));
  CHECK_THAT(verdict(kJournal, 3, 151, 300), Contains("beyond its session's end, 150"));
  CHECK_THAT(verdict(kJournal, 4, 301, 300), Contains("durable up to 300"));
}

}  // namespace
}  // namespace lapwing
