#include "monitor/metrics/exposition.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

TEST_CASE("A label holds what a stranger wrote, and no line of its own") {
  Exposition exposition;
  exposition.add(scope::kErrors, {"x\"\\\n# TYPE b gauge\nb 1\xff\xe2\x80\xae"}, {.number = 2});
  const std::string text = exposition.take_text();
  INFO(text);
  CHECK(text.find("\n# TYPE b gauge") == std::string::npos);
  CHECK(
      text.ends_with("\n# TYPE lapwing_monitor_errors_total counter\n"
                     "lapwing_monitor_errors_total{reason="
                     "\"x\\\"\\\\?# TYPE b gauge?b 1????\"} 2\n"));
}

TEST_CASE("Durations are counted up to each limit, in seconds") {
  Durations durations;
  durations.add(1'000);
  durations.add(2'000);
  durations.add(100'000'000'000);
  Exposition exposition;
  exposition.add(scope::kSamples, {}, {.times = durations});
  const std::string text = exposition.take_text();
  INFO(text);
  const std::string name = "lapwing_monitor_sample_seconds";
  CHECK(text.find(name + "_count 3\n") != std::string::npos);
  CHECK(text.find(name + "_bucket{le=\"+Inf\"} 3\n") != std::string::npos);
  CHECK(text.find(name + "_bucket{le=\"1e-06\"} 1\n") != std::string::npos);
  CHECK(text.find(name + "_bucket{le=\"2e-06\"} 2\n") != std::string::npos);
  CHECK(text.find(name + "_sum 100.000003\n") != std::string::npos);
}

TEST_CASE("Series of a family stand together, whenever they were added") {
  const std::string name = "lapwing_monitor_errors_total";
  Exposition exposition;
  exposition.add(scope::kErrors, {"1"}, {.number = 1});
  exposition.add(scope::kBuild, {"1.2.3", ""}, {});
  exposition.add(scope::kErrors, {"2"}, {.number = 2});
  const std::string text = exposition.take_text();
  CHECK(text.find(name + "{reason=\"1\"} 1\n" + name + "{reason=\"2\"} 2\n") != std::string::npos);
  CHECK(text.find("# TYPE " + name) == text.rfind("# TYPE " + name));
}

}  // namespace
}  // namespace lapwing
