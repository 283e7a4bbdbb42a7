// The terminal of `lapwing top`, by ncurses: draws the tables and reads keys.
//
// Thread safety: one thread; one at a time in a process.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/top/controls.h"
#include "cli/top/table.h"

namespace lapwing::cli {

class TopTerminal {
 public:
  // Takes the terminal over until it is destroyed. Errors: kUnsupported (TERM names none that is
  // known).
  static absl::StatusOr<TopTerminal> open();
  TopTerminal(TopTerminal&& other) noexcept;
  TopTerminal& operator=(TopTerminal&&) = delete;
  ~TopTerminal();

  // False: the locale has no other characters than ASCII.
  bool has_unicode() const { return has_unicode_; }
  // The rows of a table that are seen at a time.
  std::size_t rows() const;
  // `note` stands in the last line, where nobody types.
  void draw(const Table& table, Controls& controls, const std::string& title,
            const std::string& note);
  // Waits for a key, up to timeout_ns, and passes it on. False: none came, or the window has
  // another size now.
  bool take_key(std::uint64_t timeout_ns, Controls& controls, const Table& table);

 private:
  TopTerminal() = default;
  void put(int row, const std::string& text, std::uint32_t attributes);
  void draw_help();

  bool is_open_ = true;
  bool has_unicode_ = false;
  bool has_colours_ = false;
};

}  // namespace lapwing::cli
