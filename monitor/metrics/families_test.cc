#include "monitor/metrics/families.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

TEST_CASE("A label holds what a stranger wrote, and no line of its own") {
  Families families;
  families.gauge("a", "Help.", {{"name", "x\"\\\n# TYPE b gauge\nb 1\xff\xe2\x80\xae"}}, 2);
  CHECK(families.text() ==
        "# HELP a Help.\n# TYPE a gauge\na{name=\"x\\\"\\\\?# TYPE b gauge?b 1????\"} 2\n");
}

TEST_CASE("Durations are counted up to each limit, in seconds") {
  Families families;
  Durations durations;
  durations.add(1'000);
  durations.add(2'000);
  durations.add(100'000'000'000);
  families.histogram("h", "Help.", {}, durations);
  const std::string text = families.text();
  INFO(text);
  CHECK(text.find("h_count 3\n") != std::string::npos);
  CHECK(text.find("h_bucket{le=\"+Inf\"} 3\n") != std::string::npos);
  CHECK(text.find("h_bucket{le=\"1e-06\"} 1\n") != std::string::npos);
  CHECK(text.find("h_bucket{le=\"2e-06\"} 2\n") != std::string::npos);
  CHECK(text.find("h_sum 100.000003\n") != std::string::npos);
}

TEST_CASE("Series of a family stand together, whenever they were added") {
  Families families;
  families.counter("a_total", "A.", {{"x", "1"}}, 1);
  families.gauge("b", "B.", {}, 1);
  families.counter("a_total", "A.", {{"x", "2"}}, 2);
  const std::string text = families.text();
  CHECK(text.find("a_total{x=\"1\"} 1\na_total{x=\"2\"} 2\n") != std::string::npos);
  CHECK(text.find("# TYPE a_total counter") == text.rfind("# TYPE a_total counter"));
}

}  // namespace
}  // namespace lapwing
