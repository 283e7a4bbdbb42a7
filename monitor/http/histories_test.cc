#include "monitor/http/histories.h"
#include "os/kernel.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace lapwing {
namespace {

using nlohmann::json;

constexpr std::uint64_t kStart = 1'700'000'000 * kNsPerSecond;

SubscriberStatus subscriber(const std::string& name, std::uint64_t lag) {
  SubscriberStatus status;
  status.name = name;
  status.pid = 12;
  status.connected_wall_ns = 1'700'000'000'123'456'789;
  status.observed.lag = lag;
  status.observed.delay_ns = kNsPerSecond / 2;
  return status;
}

MachineReading reading_at(std::uint64_t second, std::vector<SubscriberStatus> subscribers) {
  BusReading bus;
  bus.directory = "/run/es";
  bus.ring = RingStatus{};
  bus.ring->head = 100;
  bus.ring->archived = 90;
  bus.ring->durable = 70;
  bus.ring->journal.state = JournalState::kGood;
  bus.ring->counts.emplace();
  bus.ring->counts->stalls.sum_ns = second * 5'000'000;
  bus.rate = static_cast<double>(second);
  bus.publisher = PublisherStatus{};
  bus.publisher->subscribers = std::move(subscribers);
  MachineReading reading;
  reading.host = "desk7";
  reading.wall_ns = kStart + second * kNsPerSecond;
  reading.buses.push_back(std::move(bus));
  return reading;
}

json json_of(const Histories& histories) {
  return json::parse("{" + histories.json("/run/es").value() + "}");
}

TEST_CASE("A history has a value of each column for each time") {
  Histories histories;
  histories.add(reading_at(1, {subscriber("a", 3)}));
  histories.add(reading_at(2, {subscriber("a", 4), subscriber("b", 5)}));
  histories.add(reading_at(3, {subscriber("b", 6)}));
  const json history = json_of(histories);
  CHECK(history["host"] == "desk7");
  CHECK(history["directory"] == "/run/es");
  CHECK(history["times_ms"] == json({1'700'000'001'000, 1'700'000'002'000, 1'700'000'003'000}));
  CHECK(history["rate"] == json({1, 2, 3}));
  CHECK(history["unarchived"] == json({10, 10, 10}));
  CHECK(history["undurable"] == json({30, 30, 30}));
  CHECK(history["stalls_ms"] == json({nullptr, 5, 5}));
  REQUIRE(history["subscribers"].size() == 2);
  const json& a = history["subscribers"][0];
  CHECK(a["name"] == "a");
  CHECK(a["pid"] == 12);
  CHECK(a["connected_ns"] == 1'700'000'000'123'456'789);
  CHECK(a["lag"] == json({3, 4, nullptr}));
  CHECK(a["delay_seconds"] == json({0.5, 0.5, nullptr}));
  CHECK(history["subscribers"][1]["lag"] == json({nullptr, 5, 6}));
}

TEST_CASE("A missing subscriber has no values while it is missing") {
  Histories histories;
  histories.add(reading_at(1, {subscriber("a", 3)}));
  SubscriberStatus missing = subscriber("a", 0);
  missing.missing_since_wall_ns = 1;
  histories.add(reading_at(2, {missing}));
  CHECK(json_of(histories)["subscribers"][0]["lag"] == json({3, nullptr}));
}

TEST_CASE("Ages are counted since the point before") {
  Histories histories;
  SubscriberStatus one = subscriber("a", 0);
  one.latency.emplace();
  one.latency->age_ns.add(100, 5);
  histories.add(reading_at(1, {one}));
  one.latency->age_ns.add(100, 2);
  histories.add(reading_at(2, {one}));
  histories.add(reading_at(3, {one}));
  const json heat = json_of(histories)["subscribers"][0]["heat"];
  REQUIRE(heat.size() == 1);
  CHECK(heat[0][0] == 1);
  CHECK(heat[0][1][0][1] == 2);
}

TEST_CASE("An hour is kept, and a subscriber that left is forgotten after that") {
  Histories histories;
  histories.add(reading_at(0, {subscriber("left", 1)}));
  for (std::uint64_t second = 1; second < kHistoryPointsMax + 10; ++second) {
    histories.add(reading_at(second, {subscriber("a", second)}));
  }
  const json history = json_of(histories);
  CHECK(history["times_ms"].size() == kHistoryPointsMax);
  CHECK(history["rate"].size() == kHistoryPointsMax);
  CHECK(history["rate"].front() == 10);
  REQUIRE(history["subscribers"].size() == 1);
  CHECK(history["subscribers"][0]["lag"].size() == kHistoryPointsMax);
  CHECK(history["subscribers"][0]["lag"].back() == kHistoryPointsMax + 9);
}

TEST_CASE("Readings that come faster are a point a second") {
  Histories histories;
  MachineReading reading = reading_at(1, {});
  for (int i = 0; i < 21; ++i) {
    histories.add(reading);
    reading.wall_ns += kNsPerSecond / 10;
  }
  CHECK(json_of(histories)["times_ms"].size() == 3);
}

TEST_CASE("A wall clock that is set back begins anew, and a bus that is gone is forgotten") {
  Histories histories;
  histories.add(reading_at(100, {subscriber("a", 1)}));
  histories.add(reading_at(7, {subscriber("a", 2)}));
  CHECK(json_of(histories)["rate"] == json({7}));
  MachineReading none = reading_at(9, {});
  none.buses.clear();
  histories.add(none);
  CHECK_FALSE(histories.json("/run/es"));
}

TEST_CASE("Subscribers beyond the limit are left out") {
  Histories histories;
  std::vector<SubscriberStatus> many;
  for (std::size_t i = 0; i < kHistorySubscribersMax + 5; ++i) {
    many.push_back(subscriber(std::to_string(i), i));
  }
  histories.add(reading_at(1, many));
  CHECK(json_of(histories)["subscribers"].size() == kHistorySubscribersMax);
}

}  // namespace
}  // namespace lapwing
