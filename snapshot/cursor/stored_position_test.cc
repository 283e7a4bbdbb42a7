// A position as text, and texts that are refused.
#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/match.h"
#include "lapwing/error.h"
#include "lapwing/subscriber.h"

namespace lapwing {
namespace {

constexpr char kJournal[] = "000102030405060708090a0b0c0d0e0f";
constexpr char kSession[] = "f0e0d0c0b0a090807060504030201000";

std::string with_sequence(const std::string& sequence) {
  return std::string(kJournal) + "/" + kSession + "/" + sequence;
}

TEST_CASE(
    "The text of a position contains its journal, session and sequence, and can be read back") {
  const StoredPosition position{*Id128::from_hex(kJournal), *Id128::from_hex(kSession), 4711};
  CHECK(position.text() ==
        "000102030405060708090a0b0c0d0e0f/f0e0d0c0b0a090807060504030201000/4711");
  const auto parsed = StoredPosition::parse(position.text());
  REQUIRE(parsed.ok());
  CHECK(*parsed == position);
}

TEST_CASE("The smallest and the largest sequence are positions, and numbers beyond are not") {
  for (const Sequence sequence : {kNoSequence, Sequence{1}, kSequenceMax}) {
    const auto parsed = StoredPosition::parse(with_sequence(std::to_string(sequence)));
    REQUIRE(parsed.ok());
    CHECK(parsed->sequence == sequence);
  }
  CHECK_FALSE(StoredPosition::parse(with_sequence("9223372036854775808")).ok());
  CHECK_FALSE(StoredPosition::parse(with_sequence("18446744073709551616")).ok());
}

TEST_CASE("Any other text is refused, and the message shows the form of a position") {
  const std::string good = with_sequence("7");
  for (const std::string& text :
       {std::string(), std::string("7"), good + "/", "/" + good, good + " ", " " + good,
        good + "\n", with_sequence(""), with_sequence("+7"), with_sequence("07"),
        with_sequence("-7"), with_sequence("7x"), std::string(kJournal) + "/7", good.substr(1),
        "0" + good, "G" + good.substr(1), "A" + good.substr(1)}) {
    INFO(text);
    const auto parsed = StoredPosition::parse(text);
    CHECK(errc_of(parsed.status()) == Errc::kInvalidArgument);
    CHECK(absl::StrContains(std::string(parsed.status().message()),
                            "<journal id>/<session id>/<sequence>"));
  }
}

}  // namespace
}  // namespace lapwing
