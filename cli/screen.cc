#include "cli/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/standard_streams.h"

namespace lapwing::cli {
namespace {

constexpr std::size_t kRowsDefault = 24;
constexpr std::size_t kColumnsDefault = 80;

struct Size {
  std::size_t rows = kRowsDefault;
  std::size_t columns = kColumnsDefault;
};

Size terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2 || size.ws_col == 0) {
    return {};
  }
  return {size.ws_row, size.ws_col};
}

}  // namespace

Screen::Screen(bool live) : terminal_(isatty(STDOUT_FILENO) == 1), live_(live) {}

// The last row stays empty, because a line feed there would scroll the block.
std::size_t Screen::lines_max() const {
  return terminal_size().rows - 1;
}

absl::Status Screen::show(const std::string& lines) {
  if (is_in_place()) {
    std::cout << in_place(lines);
  } else {
    if (terminal_) std::cout << "\r\x1b[K";  // erases a progress line
    std::cout << (std::exchange(shown_, true) ? "\n" : "") << lines;
  }
  return flush_output();
}

// Erases the rest of each line, and everything below the last line.
std::string Screen::in_place(const std::string& lines) {
  const Size size = terminal_size();
  std::string out = shown_lines_ == 0 ? "\r" : absl::StrCat("\r\x1b[", shown_lines_, "A");
  shown_lines_ = 0;
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    if (shown_lines_ >= lines_max()) break;
    absl::StrAppend(&out, line.substr(0, size.columns), "\x1b[K\n");
    ++shown_lines_;
  }
  return absl::StrCat(out, "\x1b[J");
}

}  // namespace lapwing::cli
