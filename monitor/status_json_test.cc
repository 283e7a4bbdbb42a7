#include "monitor/status_json.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "lapwing/ages.h"
#include "monitor/journal_status.h"
#include "testing/mirror_journal.h"

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

TEST_CASE("a mirror is reserved without limit, and shows what its origin does not have") {
  const MirrorJournal journal;
  const auto sessions = read_sessions(journal.root());
  REQUIRE(sessions.ok());
  CHECK(session_json(sessions->front())["reserved_through"].is_null());
  const auto journals = read_journals(journal.root(), sessions);
  REQUIRE(journals.ok());
  CHECK(journals->front().absent_records == 640 + 111 + 64 + 3'261);

  JournalFixture of_this_host;
  of_this_host.session(11, 1, {640, 600, 600});
  const auto ordinary = read_sessions(of_this_host.root());
  CHECK(session_json(ordinary->front())["reserved_through"] == 640);
  CHECK_FALSE(read_journals(of_this_host.root(), ordinary)->front().absent_records);
}

}  // namespace
}  // namespace lapwing
