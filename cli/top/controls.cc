#include "cli/top/controls.h"

#include <algorithm>
#include <utility>

namespace lapwing::cli {

void Controls::press(Key key, char character, const Table& table, std::size_t rows) {
  if (typed_) return type(key, character);
  const bool quits = key == Key::kCharacter && character == 'q';
  if (std::exchange(help_, false) && !quits) return;  // any key closes the help
  const std::size_t at = chosen(table);
  const std::size_t page = std::max<std::size_t>(rows, 1);
  switch (key) {
    case Key::kCharacter:
      return press_character(character, table);
    case Key::kUp:
      return choose(at - std::min<std::size_t>(at, 1), table);
    case Key::kDown:
      return choose(at + 1, table);
    case Key::kPageUp:
      return choose(at - std::min(at, page), table);
    case Key::kPageDown:
      return choose(at + page, table);
    case Key::kHome:
      return choose(0, table);
    case Key::kEnd:
      return choose(table.rows().size(), table);
    case Key::kEnter:
      return enter(table);
    case Key::kEscape:
      return leave();
    case Key::kBackspace:
      return;
  }
}

void Controls::press_character(char character, const Table& table) {
  if (character >= '1' && character < static_cast<char>('1' + kViews)) {
    view_ = static_cast<View>(character - '1');
    bus_.clear();
    return;
  }
  Place& here = place();
  switch (character) {
    case 's': {
      const std::size_t next = here.sort_column ? *here.sort_column + 1 : 0;
      here.sort_column =
          next < table.columns().size() ? std::optional(next) : std::optional<std::size_t>();
      return;
    }
    case 'r':
      here.reversed = !here.reversed;
      return;
    case '/':
      typed_ = filter_;
      return;
    case 'p':
      paused_ = !paused_;
      return;
    case '+':
      interval_ns_ = std::min(2 * interval_ns_, kIntervalNsMax);
      return;
    case '-':
      interval_ns_ = std::max(interval_ns_ / 2, kIntervalNsMin);
      return;
    case '?':
      help_ = true;
      return;
    case 'q':
      ended_ = true;
      return;
    default:
      return;
  }
}

void Controls::type(Key key, char character) {
  if (key == Key::kCharacter) *typed_ += character;
  if (key == Key::kBackspace && !typed_->empty()) typed_->pop_back();
  if (key == Key::kEnter) filter_ = *typed_;
  if (key == Key::kEnter || key == Key::kEscape) typed_.reset();
}

void Controls::choose(std::size_t row, const Table& table) {
  if (table.rows().empty()) return;
  place().key = table.rows()[std::min(row, table.rows().size() - 1)].key;
}

void Controls::enter(const Table& table) {
  if (view_ != View::kBuses || table.rows().empty()) return;
  bus_ = table.rows()[chosen(table)].key;
  view_ = View::kSubscribers;
}

// Goes back one step: from one bus's subscribers to the buses, otherwise clears the filter.
void Controls::leave() {
  if (bus_.empty()) {
    filter_.clear();
    return;
  }
  bus_.clear();
  view_ = View::kBuses;
}

void Controls::arrange(Table& table) const {
  if (!filter_.empty()) table.filter(filter_);
  const Place& here = place();
  if (here.sort_column) table.sort_by(*here.sort_column, here.reversed);
}

std::size_t Controls::chosen(const Table& table) const {
  const auto found = std::find_if(table.rows().begin(), table.rows().end(),
                                  [&](const Row& row) { return row.key == place().key; });
  return found == table.rows().end() ? 0 : static_cast<std::size_t>(found - table.rows().begin());
}

std::size_t Controls::first_seen(const Table& table, std::size_t rows) {
  std::size_t& first = place().first;
  const std::size_t at = chosen(table);
  first = std::min(first, at);
  if (rows > 0 && at >= first + rows) first = at - rows + 1;
  const std::size_t size = table.rows().size();
  first = std::min(first, size - std::min(size, rows));
  return first;
}

std::string Controls::sorting(const Table& table) const {
  const Place& here = place();
  if (!here.sort_column) return "";
  const std::string& name = table.columns()[*here.sort_column].name;
  return (name.empty() ? "history" : name) + (here.reversed ? ", reversed" : "");
}

}  // namespace lapwing::cli
