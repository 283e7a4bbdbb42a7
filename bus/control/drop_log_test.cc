#include "bus/control/drop_log.h"
#include "os/kernel.h"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

constexpr std::uint64_t kNow = 77 * kNsPerSecond;

TEST_CASE("Every drop is counted under its reason and as a refusal or a drop") {
  DropLog log([](const std::string&) {});
  for (std::uint32_t i = 1; i <= kDropReasons; ++i) {
    for (std::uint32_t times = 0; times < i; ++times) {
      log.add(static_cast<DropReason>(i), "who", "why", kNow);
    }
  }
  for (std::uint32_t i = 1; i <= kDropReasons; ++i) {
    CHECK(log.count(static_cast<DropReason>(i)) == i);
    CHECK(log.counts()[i - 1] == i);
  }
  CHECK(log.refused() == 1 + 2 + 3 + 4 + 5);
  CHECK(log.dropped() == 6 + 7 + 8);
}

TEST_CASE("A flood writes ten lines a second, then one that says how many were left out") {
  std::vector<std::string> lines;
  DropLog log([&lines](const std::string& line) { lines.push_back(line); });
  for (int i = 0; i < 1000; ++i) log.add(DropReason::kBadFrame, "eve (pid 1)", "garbage", kNow + 1);
  REQUIRE(lines.size() == kLogLinesPerSecondMax);
  CHECK(lines[0] == "control socket: dropped eve (pid 1) (bad-frame): garbage");
  CHECK(log.deadline_ns() == kNow + 1 + kNsPerSecond);
  log.catch_up(kNow + kNsPerSecond);
  CHECK(lines.size() == kLogLinesPerSecondMax);
  log.catch_up(kNow + 1 + kNsPerSecond);
  REQUIRE(lines.size() == kLogLinesPerSecondMax + 1);
  CHECK(lines.back() == "control socket: 990 more clients were refused or dropped");
  CHECK(log.deadline_ns() == UINT64_MAX);
}

TEST_CASE("Every reason has a name of its own") {
  std::vector<std::string> names;
  for (std::uint32_t i = 1; i <= kDropReasons; ++i) {
    const std::string name = name_of(static_cast<DropReason>(i));
    CHECK(std::find(names.begin(), names.end(), name) == names.end());
    names.push_back(name);
  }
  CHECK(name_of(DropReason{0}) == std::string("unknown"));
  CHECK(name_of(DropReason{kDropReasons + 1}) == std::string("unknown"));
}

}  // namespace
}  // namespace lapwing
