// Text that replaces itself: in place on a terminal, as blocks of lines anywhere else.
//
// Thread safety: one thread; nothing else writes to standard output meanwhile.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace lapwing::cli {

class Screen {
 public:
  Screen();

  bool is_terminal() const { return terminal_; }
  // Shows lines, each with its end. On a terminal they take the place of those shown before, cut
  // to its size; elsewhere an empty line stands between two blocks. Errors: kSystem.
  absl::Status show(const std::string& lines);
  // What is shown stays: the next lines stand below it. For when others write to the terminal.
  void keep() { shown_lines_ = 0; }

 private:
  std::string in_place(const std::string& lines);

  bool terminal_;
  bool shown_ = false;           // anything, ever
  std::size_t shown_lines_ = 0;  // that the next ones replace
};

}  // namespace lapwing::cli
