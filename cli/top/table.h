// A table for a terminal: columns that give way by rank where it is narrow, rows that are sorted.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lapwing::cli {

struct Column {
  std::string name;
  int rank = 0;            // the column of the highest rank goes first; rank 0 stays
  bool is_number = false;  // stands right, and sorts by Cell::number
};

struct Cell {
  std::string text;
  double number = 0;
};

struct Row {
  std::vector<Cell> cells;  // one for each column
  std::string key;          // the same for the same thing at another time
  bool is_bad = false;      // what needs a person
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(Row row) { rows_.push_back(std::move(row)); }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }

  // Keeps the rows of which a cell has `text` in it, in whatever case.
  void filter(const std::string& text);
  // Stable; numbers from the largest on, texts from A on; reversed the other way round.
  void sort_by(std::size_t column, bool reversed);

  // The heading and one line for each row, each of at most `columns` characters.
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

// How many characters a UTF-8 text has, and its first ones.
std::size_t character_count(const std::string& text);
std::string first_characters(const std::string& text, std::size_t count);

}  // namespace lapwing::cli
