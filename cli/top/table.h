// A table for a terminal. In a narrow terminal, the columns with the highest rank are left out.
// Rows can be sorted.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lapwing::cli {

struct Column {
  std::string name;
  int rank = 0;            // the highest rank is left out first; rank 0 always stays
  bool is_number = false;  // aligned right, and sorted by Cell::number
};

struct Cell {
  std::string text;
  double number = 0;
};

struct Row {
  std::vector<Cell> cells;  // one per column
  std::string key;          // identifies the same item over time
  bool is_bad = false;      // needs attention
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(Row row) { rows_.push_back(std::move(row)); }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }

  // Keeps the rows in which a cell contains `text`, ignoring case.
  void filter(const std::string& text);
  // Stable. Numbers in descending order, texts in ascending order; `reversed` inverts both.
  void sort_by(std::size_t column, bool reversed);

  // The heading and one line per row, each at most `columns_max` characters long.
  struct Lines {
    std::string heading;
    std::vector<std::string> rows;
  };
  Lines lines(std::size_t columns_max) const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<std::size_t> fitting(const std::vector<std::size_t>& widths,
                                   std::size_t columns_max) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// The number of characters of a UTF-8 text, and its first `count` characters.
std::size_t character_count(const std::string& text);
std::string first_characters(const std::string& text, std::size_t count);

}  // namespace lapwing::cli
