#include "monitor/status_json.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "lapwing/ages.h"

namespace lapwing {
namespace {

TEST_CASE("the buckets of a latency are those with ages, each with its upper bound") {
  BusReading bus;
  bus.publisher = PublisherStatus{};
  AgeHistogram ages;
  ages.add(0);
  ages.add(1000, 3);
  const std::uint64_t oldest = std::uint64_t{1} << 40;  // above the last bound
  ages.add(oldest);
  bus.publisher->subscribers.emplace_back().latency = Latency{.every = 1, .age_ns = ages};
  const auto json = machine_json({.buses = {bus}}, ChannelList());
  const auto& latency = json["buses"][0]["subscribers"][0]["latency"];
  const std::uint64_t bound = AgeHistogram::last_of(AgeHistogram::bucket_of(1000));
  CHECK(bound >= 1000);
  CHECK(latency["buckets"] == nlohmann::ordered_json({{63, 1}, {bound, 3}, {oldest, 1}}));
}

TEST_CASE("a reading has the first channels, or why there are none") {
  ChannelList list;
  list.channels.resize(kChannelsShown + 1);
  list.channels.front().path = "/run/orders";
  list.processes_not_looked_at = 3;
  const auto json = machine_json({}, list);
  REQUIRE(json["channels"].size() == kChannelsShown);
  CHECK(json["channels"][0]["path"] == "/run/orders");
  CHECK(json["channels_total"] == kChannelsShown + 1);
  CHECK(json["processes_not_looked_at"] == 3);

  const auto unread = machine_json({}, absl::PermissionDeniedError("no /proc"));
  CHECK(unread["channels"].is_null());
  CHECK(unread["channels_why"] == "no /proc");
}

}  // namespace
}  // namespace lapwing
