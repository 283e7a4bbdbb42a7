#include "cli/top/table.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace lapwing::cli {
namespace {

Table three_rows() {
  Table table({{"name", 0, false}, {"lag", 1, true}, {"where", 2, false}});
  table.add({{{"b", 0}, {"9", 9}, {"/data/b", 0}}, "1", false});
  table.add({{{"a", 0}, {"10", 10}, {"/data/a", 0}}, "2", false});
  table.add({{{"Zürich", 0}, {"-", -1}, {"/Data/z", 0}}, "3", false});
  return table;
}

std::string order(const Table& table) {
  std::string keys;
  for (const Row& row : table.rows()) keys += row.key;
  return keys;
}

TEST_CASE("Columns stand beside one another, numbers right, and characters are counted") {
  const Table::Lines lines = three_rows().lines(80);
  CHECK(lines.heading == "name    lag  where");
  REQUIRE(lines.rows.size() == 3);
  CHECK(lines.rows[0] == "b         9  /data/b");
  CHECK(lines.rows[2] == "Zürich    -  /Data/z");
}

TEST_CASE("Where it is narrow the columns of the highest rank go, and then characters") {
  CHECK(three_rows().lines(20).heading == "name    lag  where");
  CHECK(three_rows().lines(19).heading == "name    lag");
  CHECK(three_rows().lines(10).heading == "name");
  CHECK(three_rows().lines(3).rows[2] == "Zür");
  CHECK(three_rows().lines(0).heading.empty());
}

TEST_CASE("Numbers are sorted from the largest on, texts from A on") {
  Table table = three_rows();
  table.sort_by(1, false);
  CHECK(order(table) == "213");
  table.sort_by(1, true);
  CHECK(order(table) == "312");
  table.sort_by(0, false);
  CHECK(order(table) == "321");
}

TEST_CASE("A filter looks into every cell and does not mind the case") {
  Table table = three_rows();
  table.filter("DATA/");
  CHECK(order(table) == "123");
  table.filter("/a");
  CHECK(order(table) == "2");
  table.filter("nothing");
  CHECK(table.rows().empty());
}

}  // namespace
}  // namespace lapwing::cli
