#include "relay/nats/answer_subject.h"

#include <catch2/catch.hpp>
#include <string>

namespace lapwing {
namespace {

const std::string kId = "00112233445566778899aabbccddeeff";

TEST_CASE("the subject of an answer has an inbox, the channel of answers and a number") {
  CHECK(is_answer_subject("_INBOX." + kId + ".q.1"));
  CHECK(is_answer_subject("_INBOX_in.of.host." + kId + ".q.18446744073709551615"));
  for (const std::string& wrong :
       {std::string(), std::string("lapwing.log.es"), "_INBOX." + kId + ".a.1", kId + ".q.1",
        "." + kId.substr(1) + ".q.1", "_INBOX." + kId.substr(1) + ".q.1", "_INBOX." + kId + ".q.",
        "_INBOX." + kId + ".q.x", "_INBOX." + kId + ".q.1.x", "_INBOX.x" + kId + ".q.1",
        "_INBOX." + std::string(32, 'g') + ".q.1", "_INBOX." + kId + ".q.>"}) {
    INFO(wrong);
    CHECK_FALSE(is_answer_subject(wrong));
  }
}

TEST_CASE("an error of a server about an answer is recognized") {
  CHECK(is_refused_answer("Permissions Violation for Publish to \"_INBOX." + kId + ".q.1\""));
  CHECK_FALSE(is_refused_answer("Permissions Violation for Publish to \"lapwing.log.es\""));
  CHECK_FALSE(
      is_refused_answer("Permissions Violation for Subscription to \"_INBOX." + kId + ".q.*\""));
  CHECK_FALSE(is_refused_answer("Permissions Violation for Publish to \""));
  CHECK_FALSE(is_refused_answer(""));
}

}  // namespace
}  // namespace lapwing
