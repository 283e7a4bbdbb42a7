// Compares what the headers of proto/ say with docs/abi.golden, line by line.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "testing/abi_dump.h"

namespace lapwing {
namespace {

constexpr char kGoldenFile[] = LAPWING_GOLDEN_FILE;
constexpr char kUpdateVariable[] = "LAPWING_UPDATE_GOLDEN";
constexpr char kAdvice[] =
    "If the change is meant, docs/ABI.md says which version it raises; then write the file anew:\n"
    "  LAPWING_UPDATE_GOLDEN=1 build/release/proto/abi_golden_test\n"
    "and commit it together with the header.";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The lines that differ, "-" for `before` only and "+" for `after` only, each run below the last
// line that both have. Empty if the texts are equal. Follows a longest common subsequence.
std::string difference(const std::string& before, const std::string& after) {
  const std::vector<std::string> a = lines_of(before);
  const std::vector<std::string> b = lines_of(after);
  // common[i][j]: length of the longest common subsequence of a[i…] and b[j…].
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i][j] =
          a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string text;
  std::string context;  // the last common line, if it has not been shown
  const auto show = [&](const char* sign, const std::string& line) {
    text += context + sign + line + "\n";
    context.clear();
  };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      context = "@@ line " + std::to_string(i + 1) + "\n " + a[i] + "\n";
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      show("-", a[i++]);
    } else {
      show("+", b[j++]);
    }
  }
  return text;
}

std::string read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST_CASE("Every number of the agreement is the one in docs/abi.golden") {
  const std::string dump = abi_dump();
  if (std::getenv(kUpdateVariable) != nullptr) {
    std::ofstream(kGoldenFile, std::ios::binary | std::ios::trunc) << dump;
    // Never a pass: a run that writes the file has compared nothing.
    FAIL(kGoldenFile << " is written; read its git diff, then run again without "
                     << kUpdateVariable);
  }
  const std::string golden = read_file(kGoldenFile);
  const std::string diff = difference(golden, dump);
  if (!diff.empty()) {
    FAIL("--- " << kGoldenFile << "\n+++ the headers of proto/\n" << diff << kAdvice);
  }
  CHECK(golden == dump);  // also the line ends
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
