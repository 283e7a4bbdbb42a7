#include "testing/golden_file.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace lapwing {
namespace {

constexpr char kUpdateVariable[] = "LAPWING_UPDATE_GOLDEN";

std::string read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

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
  std::string context;  // the last common line, unless it has been shown
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

void check_golden(const char* path, const std::string& text, const std::string& advice) {
  if (std::getenv(kUpdateVariable) != nullptr) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    FAIL(path << " is written; read its git diff, then run again without " << kUpdateVariable);
  }
  const std::string golden = read_file(path);
  const std::string diff = difference(golden, text);
  if (!diff.empty()) FAIL("--- " << path << "\n+++ what the code says\n" << diff << advice);
  CHECK(golden == text);  // also compares the line ends
}

}  // namespace lapwing
