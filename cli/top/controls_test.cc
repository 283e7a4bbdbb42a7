#include "cli/top/controls.h"

#include <catch2/catch.hpp>
#include <string>

namespace lapwing::cli {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

Table rows_called(const std::string& keys) {
  Table table({{"name", 0, false}, {"size", 0, true}});
  for (const char key : keys) {
    table.add(
        {{{std::string(1, key), 0}, {"1", static_cast<double>(key)}}, std::string(1, key), false});
  }
  return table;
}

// Presses keys on a three-row screen.
struct Person {
  Table table = rows_called("abcdefgh");
  Controls controls{kSecond};

  void press(Key key) { controls.press(key, 0, table, 3); }
  void type(const std::string& text) {
    for (const char character : text) controls.press(Key::kCharacter, character, table, 3);
  }
  std::string chosen() const { return table.rows()[controls.chosen(table)].key; }
};

TEST_CASE("The row that is chosen stays chosen when rows come and go") {
  Person person;
  person.press(Key::kDown);
  person.press(Key::kDown);
  CHECK(person.chosen() == "c");
  person.table = rows_called("xyabcd");
  CHECK(person.chosen() == "c");
  person.table = rows_called("xy");
  CHECK(person.chosen() == "x");
}

TEST_CASE("Choosing ends at the first row and at the last, and what is chosen is seen") {
  Person person;
  person.press(Key::kUp);
  CHECK(person.chosen() == "a");
  person.press(Key::kPageDown);
  CHECK(person.chosen() == "d");
  CHECK(person.controls.first_seen(person.table, 3) == 1);
  person.press(Key::kEnd);
  person.press(Key::kDown);
  CHECK(person.chosen() == "h");
  CHECK(person.controls.first_seen(person.table, 3) == 5);
  CHECK(person.controls.first_seen(person.table, 100) == 0);
  person.press(Key::kPageUp);
  CHECK(person.chosen() == "e");
  person.press(Key::kHome);
  CHECK(person.controls.first_seen(person.table, 3) == 0);
  person.table = rows_called("");
  person.press(Key::kDown);
  person.press(Key::kEnter);
  CHECK(person.controls.view() == View::kBuses);
  CHECK(person.controls.first_seen(person.table, 0) == 0);
}

TEST_CASE("Enter shows a bus's subscribers, and escape goes back; a view shows all") {
  Person person;
  person.press(Key::kDown);
  person.press(Key::kEnter);
  CHECK(person.controls.view() == View::kSubscribers);
  CHECK(person.controls.bus() == "b");
  person.press(Key::kEscape);
  CHECK(person.controls.view() == View::kBuses);
  person.press(Key::kEnter);
  person.type("2");
  CHECK(person.controls.bus().empty());
  person.type("3");
  CHECK(person.controls.view() == View::kChannels);
  person.type("4");
  CHECK(person.controls.view() == View::kCheckpoints);
  person.type("5");
  CHECK(person.controls.view() == View::kEvents);
  person.type("6");
  CHECK(person.controls.view() == View::kEvents);
}

TEST_CASE("Each view is sorted by its own column") {
  Person person;
  person.type("sr");
  CHECK(person.controls.sorting(person.table) == "name, reversed");
  person.controls.arrange(person.table);
  CHECK(person.table.rows().front().key == "h");
  person.type("2");
  CHECK(person.controls.sorting(person.table).empty());
  person.type("1s");
  CHECK(person.controls.sorting(person.table) == "size, reversed");
  person.type("s");
  CHECK(person.controls.sorting(person.table).empty());
}

TEST_CASE("A filter is typed, accepted or given up, and keys are letters meanwhile") {
  Person person;
  person.type("/qp");
  person.press(Key::kBackspace);
  CHECK(person.controls.typed() == "q");
  CHECK_FALSE(person.controls.has_ended());
  person.press(Key::kEnter);
  CHECK(person.controls.filter() == "q");
  CHECK_FALSE(person.controls.typed());
  person.type("/x");
  person.press(Key::kEscape);
  CHECK(person.controls.filter() == "q");
  person.press(Key::kEscape);
  CHECK(person.controls.filter().empty());
}

TEST_CASE("The interval is doubled and halved within its limits") {
  Person person;
  person.type("+");
  CHECK(person.controls.interval_ns() == 2 * kSecond);
  person.type("++++++++");
  CHECK(person.controls.interval_ns() == kIntervalNsMax);
  person.type("------------");
  CHECK(person.controls.interval_ns() == kIntervalNsMin);
}

TEST_CASE("Help goes with any key, which does nothing else unless it quits") {
  Person person;
  person.type("?p");
  CHECK_FALSE(person.controls.shows_help());
  CHECK_FALSE(person.controls.is_paused());
  person.type("p");
  CHECK(person.controls.is_paused());
  person.type("?q");
  CHECK(person.controls.has_ended());
}

}  // namespace
}  // namespace lapwing::cli
