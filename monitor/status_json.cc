#include "monitor/status_json.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "monitor/json_text.h"
#include "monitor/time_text.h"
#include "os/kernel.h"
#include "os/printable.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

using Json = nlohmann::ordered_json;

template <typename Status>
Json list_json(std::span<const Status> list, Json (*json_of)(const Status&)) {
  Json json = Json::array();
  for (const Status& status : list) json.push_back(json_of(status));
  return json;
}
template <typename Status>
Json list_json(const std::vector<Status>& list, Json (*json_of)(const Status&)) {
  return list_json(std::span(list), json_of);
}

// For a part that could not be read, adds null and the reason next to it.
template <typename Part, typename JsonOf>
void add_part(Json& json, const std::string& key, const absl::StatusOr<Part>& part,
              const JsonOf& json_of) {
  json[key] = part.ok() ? Json(json_of(*part)) : Json(nullptr);
  if (!part.ok()) json[key + "_why"] = part.status().message();
}

Json durations_json(const Durations& durations) {
  return {{"count", durations.count()}, {"sum_ns", durations.sum_ns}, {"counts", durations.counts}};
}

Json counts_json(const std::optional<RingCounts>& counts) {
  if (!counts) return nullptr;
  return {{"idle_wakes", counts->idle_wakes},
          {"doorbells", counts->doorbells},
          {"subscribers", counts->subscribers},
          {"gaps", counts->gaps},
          {"lost", counts->lost},
          {"journal_bytes", counts->journal_bytes},
          {"stalls", durations_json(counts->stalls)},
          {"syncs", durations_json(counts->syncs)}};
}

template <typename Enum>
Json name_json(const std::optional<Enum>& value) {
  return value ? Json(name_of(*value)) : Json(nullptr);
}

Json ring_json(const RingStatus& ring) {
  return {{"path", ring.path},
          {"publisher_pid", ring.publisher_pid},
          {"state", name_of(ring.publisher_state())},
          {"heartbeat_age_ms", ring.heartbeat_age_ns / kNsPerMs},
          {"session_first", ring.session_first},
          {"head", ring.head},
          {"archived", ring.archived},
          {"durable", ring.durable},
          {"oldest", ring.oldest},
          {"journal", name_of(ring.journal.state)},
          {"journal_errno", ring.journal.sys_errno},
          {"counters", counts_json(ring.counts)}};
}

Json size_json(const JournalSize& size) {
  return {{"segments", size.segments}, {"bytes", size.bytes}};
}

// A journal that `sessions` does not list has no sessions, and its range is unknown.
Json journal_json(const JournalStatus& journal) {
  Json json = {{"journal", journal.id.hex()},
               {"sessions", journal.sessions},
               {"oldest", nullptr},
               {"last", nullptr},
               {"end", name_of(journal.end)},
               {"discarded", journal.is_discarded},
               {"segments", journal.size.segments},
               {"bytes", journal.size.bytes}};
  if (journal.sessions > 0) json["oldest"] = journal.oldest;
  if (journal.last) json["last"] = *journal.last;
  if (journal.absent_records) json["absent_records"] = *journal.absent_records;
  return json;
}

}  // namespace

Json session_json(const SessionRecord& session) {
  Json json = {
      {"session", session.begin.session_id.hex()},    {"journal", session.begin.journal_id.hex()},
      {"began", time_text(session.begin.wall_ns)},    {"first", session.begin.first},
      {"reserved_through", session.reserved_through}, {"end", name_of(session.end)}};
  if (session.begin.is_mirrored()) json["reserved_through"] = nullptr;  // without limit
  if (session.end) json["last"] = session.end->last;
  if (session.end && session.end->void_first != 0) {
    json["void"] = {session.end->void_first, session.end->void_last};
  }
  return json;
}

namespace {

// [upper bound, count] of each bucket that is not empty. The last bucket has no bound, so the
// largest age is used.
Json buckets_json(const AgeHistogram& ages) {
  Json json = Json::array();
  const auto counts = ages.counts();
  for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
    if (counts[bucket] == 0) continue;
    const bool is_bounded = bucket + 1 < counts.size();
    json.push_back({is_bounded ? AgeHistogram::last_of(bucket) : ages.max(), counts[bucket]});
  }
  return json;
}

Json latency_json(const std::optional<Latency>& latency) {
  if (!latency) return nullptr;
  const AgeHistogram& ages = latency->age_ns;
  return {{"every", latency->every},
          {"count", ages.count()},
          {"sum_ns", latency->sum_ns},
          {"p50_ns", ages.percentile(0.5)},
          {"p99_ns", ages.percentile(0.99)},
          {"p999_ns", ages.percentile(0.999)},
          {"max_ns", ages.max()},
          {"buckets", buckets_json(ages)},
          {"negative", latency->negative},
          {"unstamped", latency->unstamped}};
}

Json recent_json(const std::optional<RecentLatency>& recent) {
  if (!recent) return nullptr;
  const AgeHistogram& ages = recent->age_ns;
  return {{"seconds", seconds_of(recent->over_ns)}, {"count", ages.count()},
          {"p50_ns", ages.percentile(0.5)},         {"p99_ns", ages.percentile(0.99)},
          {"p999_ns", ages.percentile(0.999)},      {"max_ns", ages.max()}};
}

Json event_json(const EventInfoFrame& event) {
  Json json = {{"number", event.number},
               {"time", time_text(event.wall_ns)},
               {"event", name_of(event.kind)},
               {"what", sentence_of(event)}};
  const auto add = [&](const char* key, const auto& value) {
    if (value != std::decay_t<decltype(value)>{}) json[key] = value;
  };
  add("name", get_text(event.name));
  add("pid", event.pid);
  if (event.pid != 0) json["uid"] = event.uid;
  if (event.reason != DropReason{}) json["reason"] = name_of(event.reason);
  add("errno", event.sys_errno);
  add("position", event.position);
  add("records", event.records);
  add("gaps", event.gaps);
  add("lost", event.lost);
  add("filled", event.filled);
  add("count", event.count);
  add("text", get_text(event.text));
  return json;
}

Json seconds_json(const std::optional<std::uint64_t>& ns) {
  return ns ? Json(seconds_of(*ns)) : Json(nullptr);
}

Json subscriber_json(const SubscriberStatus& subscriber) {
  const ProcessState process = subscriber.observed.process;
  return {
      {"pid", subscriber.pid},
      {"uid", subscriber.uid},
      {"name", subscriber.name},
      {"state", name_of(subscriber.state)},
      {"parks", subscriber.may_park},
      {"observes", subscriber.observes},
      {"wait", name_json(subscriber.wait)},
      {"on_gap", name_json(subscriber.on_gap)},
      {"position", subscriber.position},
      {"head_seen", subscriber.head_seen},
      {"records", subscriber.records},
      {"gaps", subscriber.gaps},
      {"lost", subscriber.lost},
      {"filled", subscriber.filled},
      {"latency", latency_json(subscriber.latency)},
      {"connected_ns", subscriber.connected_wall_ns},
      {"reported_ns", subscriber.reported_wall_ns},
      {"report_age_seconds", seconds_json(subscriber.observed.report_age_ns)},
      {"missing_since",
       subscriber.is_missing() ? Json(time_text(subscriber.missing_since_wall_ns)) : Json(nullptr)},
      {"process", process == ProcessState::kUnknown ? Json(nullptr) : Json(name_of(process))},
      {"stopped", subscriber.is_stopped()},
      {"silent", subscriber.is_silent()}};
}

Json reasons_json(const std::array<std::uint64_t, kDropReasons>& counts) {
  Json json = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    json[name_of(static_cast<DropReason>(i + 1))] = counts[i];
  }
  return json;
}

// Includes values that a monitor observes over several readings.
Json watched_json(const SubscriberStatus& subscriber) {
  const Observed& observed = subscriber.observed;
  Json json = subscriber_json(subscriber);
  if (subscriber.latency) json["latency"]["window"] = recent_json(observed.recent_latency);
  const bool is_known = !subscriber.is_missing();  // whether its lag is known
  json["lag"] = is_known ? Json(observed.lag) : Json(nullptr);
  json["lag_rate"] = is_known ? Json(observed.lag_rate) : Json(nullptr);
  json["delay_seconds"] = is_known ? Json(seconds_of(observed.delay_ns)) : Json(nullptr);
  json["delay_is_longer"] = observed.delay_is_longer;
  json["far_behind"] = subscriber.is_far_behind();
  return json;
}

Json reading_json(const BusReading& bus) {
  Json json = {{"directory", bus.directory},
               {"label", bus.label},
               {"name", bus.description.name},
               {"uid", bus.uid},
               {"user", bus.user},
               {"schema", bus.description.schema},
               {"capacity", bus.description.capacity},
               {"state", bus.state_text()},
               {"rate", bus.rate}};
  add_part(json, "ring", bus.ring, ring_json);
  add_part(json, "subscribers", bus.publisher, [](const PublisherStatus& publisher) {
    return list_json(publisher.subscribers, watched_json);
  });
  if (bus.publisher.ok()) {
    json["refused"] = bus.publisher->clients_refused;
    json["dropped"] = bus.publisher->clients_dropped;
    json["by_reason"] = reasons_json(bus.publisher->clients_by_reason);
  }
  json["events"] = list_json(bus.events, event_json);
  return json;
}

Json side_json(const ChannelSideStatus& side) {
  Json json = {{"pid", side.pid},
               {"claimed_pid", side.claimed_pid},
               {"name", printable(side.name)},
               {"role", name_of(side.role)},
               {"listens", side.listens},
               {"stopped", side.stopped},
               {"parked", side.parked},
               {"state", name_of(side.state)},
               {"full_waits", side.full_waits},
               {"empty_waits", side.empty_waits},
               {"sleeps", side.sleeps},
               {"wakes", side.wakes}};
  if (side.role == ChannelRole::kDuplex) json["call_window"] = side.call_window;
  return json;
}

Json direction_json(const ChannelDirectionStatus& direction) {
  Json json = {{"sender", direction.sender},
               {"capacity", direction.capacity},
               {"max_message", direction.message_bytes_max},
               {"aligned", direction.aligned},
               {"messages_sent", direction.sent.messages},
               {"frame_bytes_sent", direction.sent.frame_bytes}};
  if (!direction.receiver) return json;
  json["receiver"] = *direction.receiver;
  json["messages_received"] = direction.received.messages;
  json["frame_bytes_received"] = direction.received.frame_bytes;
  json["messages_in_flight"] = direction.in_flight.messages;
  json["frame_bytes_in_flight"] = direction.in_flight.frame_bytes;
  return json;
}

Json channel_json(const ChannelStatus& channel) {
  return {{"path", printable(channel.path)},
          {"connection", channel.connection_id.hex()},
          {"age_seconds", static_cast<double>(channel.age_ns / kNsPerMs) / 1e3},
          {"sides", list_json(channel.sides, side_json)},
          {"directions", list_json(channel.directions, direction_json)}};
}

Json left_out_json(const LeftOut& left_out) {
  return {{"not_trusted", left_out.not_trusted},
          {"not_permitted", left_out.not_permitted},
          {"beyond_limit", left_out.beyond_limit},
          {"not_watched", left_out.not_watched}};
}

// In the same form as the description's text (docs/reference/records.md).
void add_description(Json& json, const RecordIdentity& records) {
  if (records.description != nullptr) {
    json["description"] =
        Json::parse(records.description->text(), nullptr, /*allow_exceptions=*/false);
    return;
  }
  json["description"] = nullptr;
  json["description_why"] = records.note.empty() ? "the records are not described" : records.note;
}

}  // namespace

Json bus_json(const BusStatus& bus) {
  const BusDescription& description = bus.description;
  Json json = {{"bus", bus.directory},
               {"name", description.name},
               {"schema", description.schema},
               {"record_bytes", description.record_bytes},
               {"slot_bytes", description.slot_bytes},
               {"capacity", description.capacity},
               {"session", description.session_id.hex()},
               {"journal_id", description.journal_id.hex()},
               {"journal_root", description.journal_root},
               {"journal_writer", description.journal_writer}};
  add_description(json, bus.records);
  add_part(json, "ring", bus.ring, ring_json);
  if (bus.ring.ok() && !bus.ring->is_heartbeat_age_known) {
    json["ring"]["heartbeat_age_ms"] = nullptr;
  }
  add_part(json, "publisher", bus.publisher, [](const PublisherStatus&) { return "alive"; });
  if (bus.publisher.ok()) json["subscribers"] = bus.publisher->subscribers.size();
  if (description.journal_root.empty()) return json;
  add_part(json, "journal_size", bus.journals, [](const std::vector<JournalStatus>& journals) {
    return size_json(total_size(journals));
  });
  if (bus.journals.ok()) json["journals"] = list_json(*bus.journals, journal_json);
  return json;
}

Json publisher_json(const PublisherStatus& publisher) {
  return {{"head", publisher.head},
          {"subscribers", list_json(publisher.subscribers, subscriber_json)},
          {"refused", publisher.clients_refused},
          {"dropped", publisher.clients_dropped},
          {"by_reason", reasons_json(publisher.clients_by_reason)}};
}

Json channels_json(const ChannelList& list) {
  return {{"channels", list_json(list.channels, channel_json)},
          {"processes_not_looked_at", list.processes_not_looked_at}};
}

nlohmann::ordered_json buses_json(const MachineReading& reading) {
  Json buses = Json::array();
  for (const BusReading& bus : reading.buses) {
    const BusAnnouncement announced = bus.announcement.value_or(BusAnnouncement());
    const std::string& name = bus.description.name;
    Json json = {{"directory", bus.directory},
                 {"label", bus.label},
                 {"name", name.empty() ? announced.name : name},
                 {"uid", bus.uid},
                 {"user", bus.user},
                 {"publisher_pid", announced.publisher_pid},
                 {"started", time_text(announced.started_wall_ns)},
                 {"state", bus.state_text()}};
    if (bus.ring.ok()) {
      json["ring"] = ring_json(*bus.ring);
    } else {
      json["error"] = std::string(bus.ring.status().message());
    }
    buses.push_back(std::move(json));
  }
  Json json = {{"buses", std::move(buses)}};
  json.update(left_out_json(reading.left_out));
  return json;
}

nlohmann::ordered_json machine_json(const MachineReading& reading,
                                    const absl::StatusOr<ChannelList>& channels) {
  Json json = {{"time", time_text(reading.wall_ns)},
               {"host", reading.host},
               {"buses", list_json(reading.buses, reading_json)}};
  json.update(left_out_json(reading.left_out));
  add_part(json, "channels", channels, [](const ChannelList& list) {
    const std::size_t shown = std::min(list.channels.size(), kChannelsShown);
    return list_json(std::span(list.channels).first(shown), channel_json);
  });
  if (!channels.ok()) return json;
  json["channels_total"] = channels->channels.size();
  json["processes_not_looked_at"] = channels->processes_not_looked_at;
  return json;
}

nlohmann::ordered_json events_json(const ControlClient::EventList& list) {
  return {{"events", list_json(list.events, event_json)}, {"newest", list.end.newest}};
}

nlohmann::ordered_json expected_json(const std::vector<ExpectedReading>& readings) {
  Json json = Json::array();
  for (const ExpectedReading& one : readings) {
    json.push_back({{"bus", one.expected.bus},
                    {"directory", or_null(one.directory, "")},
                    {"subscriber", one.expected.name},
                    {"state", name_of(one.state)},
                    {"why", or_null(one.why, "")}});
  }
  return json;
}

nlohmann::ordered_json findings_json(const std::vector<Finding>& findings) {
  Json json = Json::array();
  for (const Finding& finding : findings) {
    json.push_back({{"name", finding.name},
                    {"value", finding.value},
                    {"verdict", name_of(finding.verdict)},
                    {"why", finding.why},
                    {"remedy", finding.remedy}});
  }
  return json;
}

}  // namespace lapwing
