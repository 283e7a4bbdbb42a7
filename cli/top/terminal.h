// The terminal of `lapwing top`, with ncurses: draws the tables and reads keys.
//
// Thread safety: one thread, and one instance per process.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/top/controls.h"
#include "cli/top/table.h"

namespace lapwing::cli {

class TopTerminal {
 public:
  // Takes over the terminal until the object is destroyed. Error: kUnsupported (the terminal type
  // in TERM is unknown).
  static absl::StatusOr<TopTerminal> open();
  TopTerminal(TopTerminal&& other) noexcept;
  TopTerminal& operator=(TopTerminal&&) = delete;
  ~TopTerminal();

  // False if the locale supports only ASCII.
  bool has_unicode() const { return has_unicode_; }
  // The number of visible rows of a table.
  std::size_t rows() const;
  // `note` is shown in the last line unless text is being entered.
  void draw(const Table& table, Controls& controls, const std::string& title,
            const std::string& note);
  // Waits up to timeout_ns for a key and passes it to `controls`. Returns false if no key was
  // pressed or the window was resized.
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
