// For tests: a file of the repository that a test compares with what the code says, and can write.
#pragma once

#include <string>
#include <vector>

namespace lapwing {

std::vector<std::string> lines_of(const std::string& text);

// The lines that differ, "-" for `before` only and "+" for `after` only, each run below the last
// line that both have. Empty if the texts are equal. Follows a longest common subsequence.
std::string difference(const std::string& before, const std::string& after);

// Fails, with the difference and `advice`, where the file at `path` is not `text`. With
// LAPWING_UPDATE_GOLDEN set it writes the file instead, and fails too: such a run has compared
// nothing.
void check_golden(const char* path, const std::string& text, const std::string& advice);

}  // namespace lapwing
