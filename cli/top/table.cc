#include "cli/top/table.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"

namespace lapwing::cli {
namespace {

constexpr std::size_t kGap = 2;  // characters between columns

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t count = character_count(text);
  const std::string blanks(width - std::min(width, count), ' ');
  return right ? blanks + text : text + blanks;
}

}  // namespace

std::size_t character_count(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string first_characters(const std::string& text, std::size_t count) {
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    if (begins_character(text[bytes]) && count-- == 0) break;
  }
  return text.substr(0, bytes);
}

void Table::filter(const std::string& text) {
  const std::string wanted = absl::AsciiStrToLower(absl::string_view(text));
  std::erase_if(rows_, [&](const Row& row) {
    return std::none_of(row.cells.begin(), row.cells.end(), [&](const Cell& cell) {
      return absl::AsciiStrToLower(absl::string_view(cell.text)).find(wanted) != std::string::npos;
    });
  });
}

void Table::sort_by(std::size_t column, bool reversed) {
  const bool by_number = columns_[column].is_number;
  std::stable_sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
    const Cell& first = reversed ? b.cells[column] : a.cells[column];
    const Cell& second = reversed ? a.cells[column] : b.cells[column];
    return by_number ? first.number > second.number : first.text < second.text;
  });
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(character_count(column.name));
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], character_count(row.cells[i].text));
    }
  }
  return widths;
}

// Returns the indexes of the columns that fit.
std::vector<std::size_t> Table::fitting(const std::vector<std::size_t>& widths,
                                        std::size_t columns_max) const {
  std::vector<std::size_t> shown(columns_.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  const auto total = [&] {
    return std::accumulate(shown.begin(), shown.end(), std::size_t{0},
                           [&](std::size_t sum, std::size_t i) { return sum + widths[i] + kGap; });
  };
  while (total() > columns_max + kGap) {
    const auto last = std::max_element(
        shown.begin(), shown.end(),
        [&](std::size_t a, std::size_t b) { return columns_[a].rank < columns_[b].rank; });
    if (columns_[*last].rank == 0) break;
    shown.erase(last);
  }
  return shown;
}

Table::Lines Table::lines(std::size_t columns_max) const {
  const std::vector<std::size_t> widths = this->widths();
  const std::vector<std::size_t> shown = fitting(widths, columns_max);
  const auto line = [&](const auto& text_of) {
    std::string text;
    for (const std::size_t i : shown) {
      if (!text.empty()) text.append(kGap, ' ');
      text += padded(text_of(i), widths[i], columns_[i].is_number);
    }
    text = first_characters(text, columns_max);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  Lines lines;
  lines.heading = line([&](std::size_t i) { return columns_[i].name; });
  for (const Row& row : rows_) {
    lines.rows.push_back(line([&](std::size_t i) { return row.cells[i].text; }));
  }
  return lines;
}

}  // namespace lapwing::cli
