// Readings as metrics: names, labels, and omitted series.
#include "monitor/metrics/bus_metrics.h"

#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

BusReading bus(const std::string& name) {
  BusReading reading{.directory = "/run/" + name,
                     .label = name,
                     .description = {},
                     .ring = RingStatus{},
                     .publisher = PublisherStatus{},
                     .journal = JournalFacts{},
                     .checkpoints = {},
                     .events = {}};
  reading.description.name = name;
  reading.description.schema = "mbo";
  reading.description.journal_writer = "io_uring";
  reading.description.capacity = 1024;
  reading.ring->head = 100;
  reading.ring->archived = 90;
  reading.ring->durable = 70;
  reading.ring->journal.state = JournalState::kGood;
  return reading;
}

SubscriberStatus subscriber(const std::string& name, std::uint64_t connected = 0) {
  SubscriberStatus status;
  status.name = name;
  status.position = 40;
  status.observed.lag = 60;
  status.records = 7;
  status.connected_wall_ns = connected;
  return status;
}

std::string text_of(const std::vector<BusReading>& buses, const MetricsOptions& options = {},
                    const absl::StatusOr<ChannelList>& channels = ChannelList()) {
  MachineReading reading;
  reading.buses = buses;
  return bus_metrics_text(reading, channels, {}, options);
}

bool has(const std::string& text, const std::string& line) {
  UNSCOPED_INFO(text);
  return absl::StrCat("\n", text).find(absl::StrCat("\n", line, "\n")) != std::string::npos;
}

TEST_CASE("A bus has its words, and what its journal is behind") {
  const std::string text = text_of({bus("es")});
  CHECK(has(text, "lapwing_bus_up{bus=\"es\"} 1"));
  CHECK(has(text, "lapwing_bus_info{bus=\"es\",schema=\"mbo\",writer=\"io_uring\"} 1"));
  CHECK(has(text, "lapwing_bus_head_sequence{bus=\"es\"} 100"));
  CHECK(has(text, "lapwing_journal_lag_records{bus=\"es\"} 10"));
  CHECK(has(text, "lapwing_journal_undurable_records{bus=\"es\"} 30"));
  CHECK(has(text, "lapwing_journal_state{bus=\"es\",state=\"good\"} 1"));
  CHECK(has(text, "lapwing_journal_state{bus=\"es\",state=\"failed\"} 0"));
}

TEST_CASE("A bus that was killed stays with up 0; one that was closed goes") {
  BusReading killed = bus("killed");
  killed.ring->is_held = false;
  killed.publisher = make_error(Errc::kPublisherGone, "gone");
  BusReading unreadable = bus("unreadable");
  unreadable.ring = make_error(Errc::kNotPermitted, "not yours");
  BusReading closed = bus("closed");
  closed.ring = make_error(Errc::kNotFound, "the session was closed");
  const std::string text = text_of({killed, unreadable, closed});
  CHECK(has(text, "lapwing_bus_up{bus=\"killed\"} 0"));
  CHECK(has(text, "lapwing_bus_up{bus=\"unreadable\"} 0"));
  CHECK(text.find("closed") == std::string::npos);
}

TEST_CASE(
    "The newest checkpoint of each fold is there, and what is not known of a bad one is not") {
  BusReading reading = bus("es");
  reading.checkpoints.resize(2);
  reading.checkpoints[0].fold = "orders";
  reading.checkpoints[0].as_of = 60;
  reading.checkpoints[0].written_wall_ns = 5'000'000'000;
  reading.checkpoints[1].fold = "latest";
  reading.checkpoints[1].usable = make_error(Errc::kDamaged, "torn");
  const std::string text = text_of({reading});
  CHECK(has(text, "lapwing_checkpoint_lag_records{bus=\"es\",fold=\"orders\"} 40"));
  CHECK(has(text, "lapwing_checkpoint_timestamp_seconds{bus=\"es\",fold=\"orders\"} 5"));
  CHECK(text.find("lapwing_checkpoint_timestamp_seconds{bus=\"es\",fold=\"latest\"}") ==
        std::string::npos);
}

TEST_CASE("Clients that were refused, and those that were dropped, are counted by their reason") {
  BusReading reading = bus("es");
  reading.publisher->clients_by_reason[1] = 3;
  reading.publisher->clients_by_reason[7] = 2;
  const std::string text = text_of({reading});
  CHECK(has(text, absl::StrCat("lapwing_clients_refused_total{bus=\"es\",reason=\"",
                               name_of(DropReason::kTooManyClients), "\"} 3")));
  CHECK(has(text, absl::StrCat("lapwing_clients_dropped_total{bus=\"es\",reason=\"",
                               name_of(DropReason::kQueueFull), "\"} 2")));
}

TEST_CASE("Equal names get a number, the oldest none") {
  BusReading reading = bus("es");
  reading.publisher->subscribers = {subscriber("a", 3), subscriber("a", 1), subscriber("a#2", 2)};
  reading.publisher->subscribers[1].observed.lag = 1;
  const std::string text = text_of({reading});
  CHECK(has(text, "lapwing_subscriber_lag_records{bus=\"es\",subscriber=\"a\"} 1"));
  CHECK(has(text, "lapwing_subscriber_up{bus=\"es\",subscriber=\"a#2\"} 1"));
  CHECK(has(text, "lapwing_subscriber_up{bus=\"es\",subscriber=\"a#3\"} 1"));
}

TEST_CASE("Subscribers beyond 256 are one, with the sum of counts and the worst of lags") {
  BusReading reading = bus("es");
  for (int i = 0; i < 300; ++i) {
    reading.publisher->subscribers.push_back(
        subscriber(absl::StrCat("s", i), static_cast<std::uint64_t>(i)));
  }
  reading.publisher->subscribers[270].observed.lag = 99;
  const std::string text = text_of({reading});
  CHECK(has(text, "lapwing_subscriber_up{bus=\"es\",subscriber=\"s255\"} 1"));
  CHECK(text.find("\"s256\"") == std::string::npos);
  CHECK(has(text, absl::StrCat("lapwing_subscriber_records_total{bus=\"es\",subscriber=\"other\"} ",
                               44 * 7)));
  CHECK(has(text, "lapwing_subscriber_lag_records{bus=\"es\",subscriber=\"other\"} 99"));
}

TEST_CASE("A subscriber called other is not taken for the rest") {
  BusReading reading = bus("es");
  reading.publisher->subscribers = {subscriber("other")};
  CHECK(has(text_of({reading}), "lapwing_subscriber_up{bus=\"es\",subscriber=\"other#1\"} 1"));
}

TEST_CASE("A missing subscriber has up 0 and its state, and no counts") {
  BusReading reading = bus("es");
  SubscriberStatus missing = subscriber("logger");
  missing.state = ClientState::kMissing;
  missing.missing_since_wall_ns = 1;
  reading.publisher->subscribers = {subscriber("here"), missing};
  const std::string text = text_of({reading});
  CHECK(has(text, "lapwing_subscriber_up{bus=\"es\",subscriber=\"here\"} 1"));
  CHECK(has(text, "lapwing_subscriber_up{bus=\"es\",subscriber=\"logger\"} 0"));
  CHECK(
      has(text, "lapwing_subscriber_state{bus=\"es\",subscriber=\"logger\",state=\"missing\"} 1"));
  CHECK(text.find("lapwing_subscriber_lag_records{bus=\"es\",subscriber=\"logger\"") ==
        std::string::npos);
}

TEST_CASE("An expected subscriber is not up if its publisher does not answer") {
  const MetricsOptions options{.version = {}, .revision = {}, .expected = {{"es", "away"}}};
  const std::string absent = "lapwing_subscriber_up{bus=\"es\",subscriber=\"away\"} 0";
  BusReading silent = bus("es");
  silent.publisher = make_error(Errc::kTimedOut, "no answer");
  CHECK(has(text_of({silent}, options), absent));
  silent.ring->is_held = false;
  CHECK(has(text_of({silent}, options), absent));
}

TEST_CASE("A publisher that runs answers or does not; one that is gone has no such series") {
  const std::string series = "lapwing_publisher_answers{bus=\"es\"}";
  BusReading reading = bus("es");
  CHECK(has(text_of({reading}), series + " 1"));
  reading.publisher = make_error(Errc::kNoBus, "its control socket is gone");
  CHECK(has(text_of({reading}), series + " 0"));
  reading.ring->is_held = false;
  CHECK(text_of({reading}).find(series) == std::string::npos);
}

TEST_CASE("A subscriber that is expected and absent has up 0") {
  BusReading reading = bus("es");
  reading.publisher->subscribers = {subscriber("here")};
  const MetricsOptions options{
      .version = {}, .revision = {}, .expected = {{"es", "here"}, {"es", "away"}, {"nq", "x"}}};
  const std::string text = text_of({reading}, options);
  CHECK(has(text, "lapwing_subscriber_up{bus=\"es\",subscriber=\"here\"} 1"));
  CHECK(has(text, "lapwing_subscriber_up{bus=\"es\",subscriber=\"away\"} 0"));
  // Nothing is known about its bus.
  CHECK(has(text, "lapwing_subscriber_up{bus=\"nq\",subscriber=\"x\"} 0"));
  reading.publisher = make_error(Errc::kPublisherGone, "gone");
  reading.ring->is_held = false;
  CHECK(
      has(text_of({reading}, options), "lapwing_subscriber_up{bus=\"es\",subscriber=\"here\"} 0"));
}

TEST_CASE("An expectation is kept while its bus is closed, unreadable or gone") {
  BusReading closed = bus("es");
  closed.ring = make_error(Errc::kNotFound, "the session was closed");
  closed.publisher = closed.ring.status();
  BusReading unreadable = bus("es");
  unreadable.ring = make_error(Errc::kNotPermitted, "not yours");
  unreadable.publisher = unreadable.ring.status();
  const MetricsOptions options{
      .version = {}, .revision = {}, .expected = {{"es", "logger"}, {"es", "logger"}}};
  for (const std::vector<BusReading>& buses :
       {std::vector<BusReading>(), {closed}, {unreadable}, {bus("es")}}) {
    const std::string text = text_of(buses, options);
    const std::string series = "lapwing_subscriber_up{bus=\"es\",subscriber=\"logger\"} 0\n";
    const std::size_t first = text.find(series);
    REQUIRE(first != std::string::npos);
    CHECK(text.find(series, first + 1) == std::string::npos);  // only once
  }
}

TEST_CASE("A latency has a bucket for each power of two, and what was not measured has none") {
  BusReading reading = bus("es");
  reading.publisher->subscribers = {subscriber("measured"), subscriber("not")};
  Latency latency{.every = 1, .sum_ns = 1'064, .age_ns = {}};
  latency.age_ns.add(64);
  latency.age_ns.add(1'000);
  reading.publisher->subscribers[0].latency = latency;
  const std::string text = text_of({reading});
  const std::string name = "lapwing_subscriber_latency_seconds";
  const std::string labels = "{bus=\"es\",subscriber=\"measured\"";
  CHECK(has(text, name + "_count" + labels + "} 2"));
  CHECK(has(text, name + "_bucket" + labels + ",le=\"6.4e-08\"} 0"));
  CHECK(has(text, name + "_bucket" + labels + ",le=\"1.28e-07\"} 1"));
  CHECK(has(text, name + "_bucket" + labels + ",le=\"1.024e-06\"} 2"));
  CHECK(text.find(name + "_count{bus=\"es\",subscriber=\"not\"") == std::string::npos);
}

TEST_CASE("A channel is shown in each direction; equal ones get a number") {
  ChannelStatus channel;
  channel.path = "/run/x.sock";
  channel.sides = {{.pid = 1, .name = "gateway", .full_waits = 3},
                   {.pid = 2, .name = "desk", .stopped = true, .empty_waits = 4}};
  channel.directions = {
      {.sender = 1, .sent = {5, 500}, .receiver = 2, .received = {3, 300}, .in_flight = {2, 200}}};
  ChannelList list;
  list.channels = {channel, channel};
  const std::string text = text_of({}, {}, list);
  const std::string labels = "{channel=\"/run/x.sock\",sender=\"gateway\"}";
  CHECK(has(text, "lapwing_channel_messages_total" + labels + " 5"));
  CHECK(has(text, "lapwing_channel_in_flight_bytes" + labels + " 200"));
  CHECK(has(text, "lapwing_channel_full_waits_total" + labels + " 3"));
  CHECK(has(text, "lapwing_channel_empty_waits_total" + labels + " 4"));
  CHECK(has(text, "lapwing_channel_stopped" + labels + " 1"));
  CHECK(has(text, "lapwing_channel_stopped{channel=\"/run/x.sock\",sender=\"gateway#2\"} 1"));
}

TEST_CASE("What could not be read is counted, by its reason") {
  MachineReading reading;
  reading.left_out.not_trusted = 2;
  reading.buses = {bus("es"), bus("nq")};
  reading.buses[0].ring = make_error(Errc::kNotPermitted, "not yours");
  reading.buses[1].publisher = make_error(Errc::kTimedOut, "no answer");
  MonitorCounts counts;
  counts.add(reading, absl::OkStatus(), 5'000);
  counts.add(reading, make_error(Errc::kSystem, "no /proc"), 5'000);
  const std::string text = bus_metrics_text(reading, ChannelList(), counts, {});
  CHECK(has(text, "lapwing_monitor_errors_total{reason=\"announcement_not_trusted\"} 4"));
  CHECK(has(text, "lapwing_monitor_errors_total{reason=\"bus_unreadable\"} 2"));
  CHECK(has(text, "lapwing_monitor_errors_total{reason=\"publisher_unanswered\"} 2"));
  CHECK(has(text, "lapwing_monitor_errors_total{reason=\"channels_unreadable\"} 1"));
  CHECK(has(text, "lapwing_monitor_sample_seconds_count 2"));
}

}  // namespace
}  // namespace lapwing
