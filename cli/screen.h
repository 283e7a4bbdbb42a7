// Blocks of lines: one below the other, or each in the place of the one before.
//
// Thread safety: one thread; nothing else writes to standard output meanwhile.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace lapwing::cli {

class Screen {
 public:
  // `live`: in place where standard output is a terminal.
  explicit Screen(bool live);

  bool is_in_place() const { return terminal_ && live_; }
  // How many lines can be seen at once in place.
  std::size_t lines_max() const;
  // Shows lines, each with its end. In place they are cut to the size of the terminal; otherwise
  // all are shown, and an empty line stands between two blocks. Errors: kSystem.
  absl::Status show(const std::string& lines);
  // What is shown stays: the next lines stand below it. For when others write to the terminal.
  void keep() { shown_lines_ = 0; }

 private:
  std::string in_place(const std::string& lines);

  const bool terminal_;
  const bool live_;
  bool shown_ = false;           // anything, ever
  std::size_t shown_lines_ = 0;  // that the next ones replace
};

}  // namespace lapwing::cli
