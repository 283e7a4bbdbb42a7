// Formats rows as text and as JSON.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "bench/row.h"

namespace lapwing::bench {

// The budget of a row as in README.md: "<= 1.13, far <= 1.02", "<= 60 ms", "none".
std::string budget_text(const RowSpec& spec);

// One row of the table: the ratio and its verdict, followed by the measurement and medians for
// orientation.
std::string to_text(const RowResult& row);

// A JSON array with one object per row, including every trial.
std::string to_json(const std::vector<RowResult>& rows);
// One row as such an object, on one line.
std::string to_json_line(const RowResult& row);

// The median of each detail over the trials, in the order of the first trial. The figure and the
// floor come first.
std::vector<Detail> median_details(const RowResult& row);

}  // namespace lapwing::bench
