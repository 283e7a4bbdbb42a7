// Compares the definitions in proto/ with tests/golden/abi.golden, line by line.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "testing/abi_dump.h"
#include "testing/golden_file.h"

namespace lapwing {
namespace {

constexpr char kAdvice[] =
    "If the change is meant, docs/reference/abi-policy.md says which version it raises; then write "
    "the file anew:\n"
    "  LAPWING_UPDATE_GOLDEN=1 build/release/proto/abi_golden_test\n"
    "and commit it together with the header.";

TEST_CASE("Every number of the agreement is the one in tests/golden/abi.golden") {
  check_golden(LAPWING_GOLDEN_FILE, abi_dump(), kAdvice);
}

TEST_CASE("No fact of the agreement is stated twice") {
  std::vector<std::string> lines = lines_of(abi_dump());
  lines.erase(std::remove(lines.begin(), lines.end(), ""), lines.end());
  std::sort(lines.begin(), lines.end());
  const auto twice = std::adjacent_find(lines.begin(), lines.end());
  CHECK(twice == lines.end());
}

TEST_CASE("A difference names removed and added lines below the last common one") {
  CHECK(difference("a\nb\n", "a\nb\n").empty());
  CHECK(difference("a\nb\nc\n", "a\nB\nc\n") == "@@ line 1\n a\n-b\n+B\n");
  CHECK(difference("a\n", "a\nnew\n") == "@@ line 1\n a\n+new\n");
  CHECK(difference("old\na\n", "a\n") == "-old\n");
  CHECK(difference("", "a\n") == "+a\n");
}

}  // namespace
}  // namespace lapwing
