#include "monitor/bus_labels.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

TEST_CASE("Of equal names the second has #2, and keeps it when the first is closed") {
  BusLabels labels;
  CHECK(labels.label("/run/es", "", "es") == "es");
  CHECK(labels.label("/run/other", "", "es") == "es#2");
  CHECK(labels.label("/run/other", "", "es") == "es#2");  // the only bus in the next reading
  CHECK(labels.label("/run/es", "", "es") == "es");       // published again
  CHECK(labels.label("/run/other", "", "nq") == "nq");
}

TEST_CASE("A bus of another user carries the user's name and cannot take another label") {
  BusLabels labels;
  CHECK(labels.label("/a", "bob", "es") == "bob/es");
  CHECK(labels.label("/b", "", "es") == "es");
  CHECK(labels.label("/c", "bob", "") == "bob//c");
}

TEST_CASE("A bus that could not be read is labelled with its directory, in printable characters") {
  BusLabels labels;
  CHECK(labels.label("/run/es", "", "") == "/run/es");
  CHECK(labels.label("/run/x", "", "a\nb").find('\n') == std::string::npos);
}

TEST_CASE("A name that looks like a directory takes no label twice") {
  BusLabels labels;
  CHECK(labels.label("/run/a", "bob", "/") == "bob//");
  CHECK(labels.label("/", "bob", "") == "bob//#2");
  CHECK(labels.label("/run/es", "", "") == "/run/es");
  CHECK(labels.label("/run/b", "", "/run/es") == "/run/es#2");
}

TEST_CASE("Another user who renames its buses changes no label of trusted buses") {
  BusLabels labels;
  REQUIRE(labels.label("/run/es", "", "es") == "es");
  REQUIRE(labels.label("/run/other", "", "es") == "es#2");
  for (int i = 0; i < 10'000; ++i) labels.label("/a", "bob", std::to_string(i));
  CHECK(labels.label("/run/other", "", "es") == "es#2");
  CHECK(labels.label("/run/es", "", "es") == "es");
}

}  // namespace
}  // namespace lapwing
