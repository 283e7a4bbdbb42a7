// For tests: a file of the repository that a test compares with generated text, and can update.
#pragma once

#include <string>
#include <vector>

namespace lapwing {

std::vector<std::string> lines_of(const std::string& text);

// The differing lines: "-" for `before` only and "+" for `after` only. Each run follows the last
// line that both have. Empty if the texts are equal. Uses a longest common subsequence.
std::string difference(const std::string& before, const std::string& after);

// Fails with the difference and `advice` if the file at `path` does not contain `text`. If
// LAPWING_UPDATE_GOLDEN is set, it writes the file instead, and also fails, because such a run has
// compared nothing.
void check_golden(const char* path, const std::string& text, const std::string& advice);

}  // namespace lapwing
