// Rows as people and programs read them.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "bench/row.h"

namespace lapwing::bench {

// What a row promises, as README.md has it: "<= 1.13, far <= 1.02", "<= 60 ms", "none".
std::string budget_text(const RowSpec& spec);

// One row of the table: the ratio and its verdict; below it what was measured, and medians for
// orientation.
std::string to_text(const RowResult& row);

// A JSON array with one object per row; every trial is in it.
std::string to_json(const std::vector<RowResult>& rows);
// One row as such an object, on one line.
std::string to_json_line(const RowResult& row);

// The median of each detail over the trials, in the order of the first trial; the figure and the
// floor themselves come first.
std::vector<Detail> median_details(const RowResult& row);

}  // namespace lapwing::bench
