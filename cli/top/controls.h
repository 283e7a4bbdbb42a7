// The keys of `lapwing top`: they select the view, its order and filter, and a row. This class
// draws nothing.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/top/table.h"
#include "lapwing/detail/enum_names.h"

namespace lapwing::cli {

enum class View : std::size_t {
  kBuses = 0,
  kSubscribers = 1,
  kChannels = 2,
  kCheckpoints = 3,
  kEvents = 4,
};
inline constexpr std::size_t kViews = 5;

constexpr const char* name_of(View view) {
  constexpr detail::EnumName<View> kNames[] = {{View::kBuses, "buses"},
                                               {View::kSubscribers, "subscribers"},
                                               {View::kChannels, "channels"},
                                               {View::kCheckpoints, "checkpoints"},
                                               {View::kEvents, "events"}};
  return detail::name_in(kNames, view);
}

// Keys; kCharacter is accompanied by a character.
enum class Key {
  kCharacter,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kEscape,
  kBackspace,
};

inline constexpr std::uint64_t kIntervalNsMin = 250'000'000;
inline constexpr std::uint64_t kIntervalNsMax = 60'000'000'000;

class Controls {
 public:
  explicit Controls(std::uint64_t interval_ns) : interval_ns_(interval_ns) {}

  // `table` is the table shown; `rows` is its number of visible rows.
  void press(Key key, char character, const Table& table, std::size_t rows);
  // Filters and sorts a table for the current view.
  void arrange(Table& table) const;
  // The selected row and the first visible row. The selection follows its row.
  std::size_t chosen(const Table& table) const;
  std::size_t first_seen(const Table& table, std::size_t rows);

  View view() const { return view_; }
  // The directory of the bus whose subscribers are shown; empty: all buses.
  const std::string& bus() const { return bus_; }
  std::uint64_t interval_ns() const { return interval_ns_; }
  bool is_paused() const { return paused_; }
  bool shows_help() const { return help_; }
  bool has_ended() const { return ended_; }
  // The text typed after `/`; nullopt if no text is being entered.
  const std::optional<std::string>& typed() const { return typed_; }
  const std::string& filter() const { return filter_; }
  // "lag, reversed"; empty if the table is in its own order.
  std::string sorting(const Table& table) const;

 private:
  struct Place {
    std::optional<std::size_t> sort_column;
    bool reversed = false;
    std::string key;  // of the selected row
    std::size_t first = 0;
  };

  Place& place() { return places_[static_cast<std::size_t>(view_)]; }
  const Place& place() const { return places_[static_cast<std::size_t>(view_)]; }
  void type(Key key, char character);
  void press_character(char character, const Table& table);
  void choose(std::size_t row, const Table& table);
  void enter(const Table& table);
  void leave();

  View view_ = View::kBuses;
  std::array<Place, kViews> places_;
  std::string bus_;
  std::uint64_t interval_ns_;
  bool paused_ = false;
  bool help_ = false;
  bool ended_ = false;
  std::optional<std::string> typed_;
  std::string filter_;
};

}  // namespace lapwing::cli
