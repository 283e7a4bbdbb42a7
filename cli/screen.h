// Blocks of lines, printed one below the other, or redrawn in place.
//
// Thread safety: one thread. No other thread may write to standard output at the same time.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace lapwing::cli {

class Screen {
 public:
  // `live`: redraw in place if standard output is a terminal.
  explicit Screen(bool live);

  bool is_in_place() const { return terminal_ && live_; }
  // The number of lines that fit on the screen.
  std::size_t lines_max() const;
  // Prints lines, each with its line feed. When redrawn in place, they are truncated to the
  // terminal's size. Otherwise all are printed, with an empty line between blocks. Error: kSystem.
  absl::Status show(const std::string& lines);
  // Keeps the current block: the next one starts below it. Call it before other output.
  void keep() { shown_lines_ = 0; }

 private:
  std::string in_place(const std::string& lines);

  const bool terminal_;
  const bool live_;
  bool shown_ = false;           // a block has been shown
  std::size_t shown_lines_ = 0;  // lines that the next block replaces
};

}  // namespace lapwing::cli
