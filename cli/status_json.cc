#include "cli/status_json.h"

#include <string>
#include <vector>

#include "cli/say.h"
#include "cli/time_text.h"

namespace lapwing::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kNsPerMs = 1'000'000;

template <typename Status>
Json list_json(const std::vector<Status>& list, Json (*json_of)(const Status&)) {
  Json json = Json::array();
  for (const Status& status : list) json.push_back(json_of(status));
  return json;
}

Json ring_json(const RingStatus& ring) {
  return {{"path", ring.path},
          {"publisher_pid", ring.publisher_pid},
          {"state", name_of(ring.state)},
          {"heartbeat_age_ms", ring.heartbeat_age_ns / kNsPerMs},
          {"session_first", ring.session_first},
          {"head", ring.head},
          {"archived", ring.archived},
          {"durable", ring.durable},
          {"oldest", ring.oldest},
          {"journal", name_of(ring.journal.state)},
          {"journal_errno", ring.journal.sys_errno}};
}

Json session_json(const SessionRecord& session) {
  Json json = {
      {"session", session.begin.session_id.hex()},    {"journal", session.begin.journal_id.hex()},
      {"began", time_text(session.begin.wall_ns)},    {"first", session.begin.first},
      {"reserved_through", session.reserved_through}, {"end", name_of(session.end)}};
  if (session.end) json["last"] = session.end->last;
  if (session.end && session.end->void_first != 0) {
    json["void"] = {session.end->void_first, session.end->void_last};
  }
  return json;
}

Json subscriber_json(const SubscriberStatus& subscriber) {
  return {{"pid", subscriber.pid},
          {"uid", subscriber.uid},
          {"name", subscriber.name},
          {"state", name_of(subscriber.state)},
          {"parks", subscriber.may_park},
          {"position", subscriber.position},
          {"head_seen", subscriber.head_seen},
          {"records", subscriber.records},
          {"gaps", subscriber.gaps},
          {"lost", subscriber.lost},
          {"filled", subscriber.filled},
          {"connected_ns", subscriber.connected_wall_ns},
          {"reported_ns", subscriber.reported_wall_ns}};
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
  if (bus.ring.ok()) {
    json["ring"] = ring_json(*bus.ring);
  } else {
    json["ring"] = nullptr;
    json["ring_why"] = bus.ring.status().message();
  }
  if (bus.publisher.ok()) {
    json["publisher"] = "alive";
    json["subscribers"] = bus.publisher->subscribers.size();
  } else {
    json["publisher"] = nullptr;
    json["publisher_why"] = bus.publisher.status().message();
  }
  if (!description.journal_root.empty() && bus.sessions.ok()) {
    json["sessions"] = list_json(*bus.sessions, session_json);
  }
  return json;
}

Json publisher_json(const PublisherStatus& publisher) {
  return {{"head", publisher.head},
          {"subscribers", list_json(publisher.subscribers, subscriber_json)},
          {"refused", publisher.clients_refused},
          {"dropped", publisher.clients_dropped}};
}

}  // namespace lapwing::cli
