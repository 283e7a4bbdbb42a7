#include "cli/top/terminal.h"

#include <langinfo.h>
#define NCURSES_NOMACROS
#include <ncurses.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "lapwing/error.h"

namespace lapwing::cli {
namespace {

constexpr int kEscapeMs = 25;  // an escape followed by nothing for this long is a key of its own
constexpr short kBadPair = 1;
constexpr int kTitleRow = 0;
constexpr int kHeadingRow = 1;
constexpr int kFirstRow = 2;

constexpr const char* kHelp[] = {
    "1 2 3 4 5  buses, subscribers, channels, checkpoints, events",
    "up down    choose a row; also page up, page down, home, end",
    "Enter      the subscribers of the bus that is chosen",
    "Esc        back; or take the filter away",
    "s r        sort by the next column; reverse",
    "/          show only rows with this text",
    "p          pause: what is shown stays",
    "+ -        read less often, more often",
    "? q        this help; quit",
};

// True unless NO_COLOR (no-color.org) is set and not empty.
bool wants_colours() {
  const char* const refused = std::getenv("NO_COLOR");
  return refused == nullptr || *refused == '\0';
}

// Replaces non-ASCII characters with `?`, for an ASCII-only locale.
std::string in_ascii(std::string text) {
  std::string out;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80) {
      out += byte;
    } else if (code >= 0xc0) {
      out += '?';
    }
  }
  return out;
}

struct Pressed {
  Key key;
  char character;
};

std::optional<Pressed> pressed(int code) {
  switch (code) {
    case KEY_UP:
      return Pressed{Key::kUp, 0};
    case KEY_DOWN:
      return Pressed{Key::kDown, 0};
    case KEY_PPAGE:
      return Pressed{Key::kPageUp, 0};
    case KEY_NPAGE:
      return Pressed{Key::kPageDown, 0};
    case KEY_HOME:
      return Pressed{Key::kHome, 0};
    case KEY_END:
      return Pressed{Key::kEnd, 0};
    case KEY_ENTER:
    case '\n':
    case '\r':
      return Pressed{Key::kEnter, 0};
    case 27:
      return Pressed{Key::kEscape, 0};
    case KEY_BACKSPACE:
    case 127:
    case '\b':
      return Pressed{Key::kBackspace, 0};
    default:
      if (code < ' ' || code > '~') return std::nullopt;
      return Pressed{Key::kCharacter, static_cast<char>(code)};
  }
}

}  // namespace

absl::StatusOr<TopTerminal> TopTerminal::open() {
  std::setlocale(LC_ALL, "");
  // On an error, initscr() would end the process.
  if (newterm(nullptr, stdout, stdin) == nullptr) {
    return make_error(Errc::kUnsupported,
                      "the type of this terminal is unknown. Set TERM, or use --once");
  }
  TopTerminal terminal;
  terminal.has_unicode_ = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  terminal.has_colours_ = wants_colours() && has_colors();
  if (terminal.has_colours_) {
    start_color();
    use_default_colors();
    init_pair(kBadPair, COLOR_RED, -1);
  }
  cbreak();
  noecho();
  curs_set(0);
  keypad(stdscr, true);
  set_escdelay(kEscapeMs);
  return terminal;
}

TopTerminal::TopTerminal(TopTerminal&& other) noexcept
    : is_open_(std::exchange(other.is_open_, false)),
      has_unicode_(other.has_unicode_),
      has_colours_(other.has_colours_) {}

TopTerminal::~TopTerminal() {
  if (is_open_) endwin();
}

std::size_t TopTerminal::rows() const {
  const int rows = getmaxy(stdscr) - kFirstRow - 1;
  return static_cast<std::size_t>(std::max(rows, 0));
}

void TopTerminal::put(int row, const std::string& text, std::uint32_t attributes) {
  if (row < 0 || row >= getmaxy(stdscr)) return;
  const auto columns = static_cast<std::size_t>(getmaxx(stdscr));
  const std::string line = first_characters(has_unicode_ ? text : in_ascii(text), columns);
  attrset(static_cast<int>(attributes));
  mvaddstr(row, 0, line.c_str());
  for (std::size_t at = character_count(line); at < columns && attributes != 0; ++at) addch(' ');
  attrset(0);
}

void TopTerminal::draw_help() {
  int row = kHeadingRow;
  for (const char* const line : kHelp) put(row++, line, 0);
}

void TopTerminal::draw(const Table& table, Controls& controls, const std::string& title,
                       const std::string& note) {
  erase();
  put(kTitleRow, title, A_BOLD);
  if (controls.shows_help()) {
    draw_help();
  } else {
    const Table::Lines lines = table.lines(static_cast<std::size_t>(getmaxx(stdscr)));
    put(kHeadingRow, lines.heading, A_UNDERLINE);
    const std::size_t chosen = controls.chosen(table);
    const std::size_t first = controls.first_seen(table, rows());
    for (std::size_t i = first; i < std::min(first + rows(), lines.rows.size()); ++i) {
      std::uint32_t attributes = 0;
      if (table.rows()[i].is_bad) {
        attributes = A_BOLD | (has_colours_ ? static_cast<std::uint32_t>(COLOR_PAIR(kBadPair)) : 0);
      }
      if (i == chosen) attributes |= A_REVERSE;
      put(kFirstRow + static_cast<int>(i - first), lines.rows[i], attributes);
    }
  }
  const int last = getmaxy(stdscr) - 1;
  if (last > kTitleRow) put(last, controls.typed() ? "/" + *controls.typed() : note, 0);
  refresh();
}

bool TopTerminal::take_key(std::uint64_t timeout_ns, Controls& controls, const Table& table) {
  timeout(static_cast<int>(timeout_ns / 1'000'000));
  const std::optional<Pressed> key = pressed(getch());
  if (key) controls.press(key->key, key->character, table, rows());
  return key.has_value();
}

}  // namespace lapwing::cli
