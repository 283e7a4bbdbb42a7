#include "bus/control/connection_table.h"

#include <algorithm>
#include <utility>

#include "bus/control/admission.h"

namespace lapwing {

ConnectionId ConnectionTable::add(ForeignSocket fd, const PeerCredentials& peer,
                                  ControlServer& server, ControlledPublisher& publisher) {
  const ConnectionId id = next_id_++;
  connections_.try_emplace(id, id, std::move(fd), peer, server, publisher);
  return id;
}

ControlConnection* ConnectionTable::find(ConnectionId id) {
  const auto found = connections_.find(id);
  return found == connections_.end() || found->second.ended() ? nullptr : &found->second;
}

const ControlConnection* ConnectionTable::next_subscriber(ConnectionId from) const {
  for (auto it = connections_.lower_bound(from); it != connections_.end(); ++it) {
    if (it->second.client().is_subscriber() && !it->second.ended()) return &it->second;
  }
  return nullptr;
}

std::size_t ConnectionTable::client_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(connections_, [](const auto& entry) {
    const ClientProfile& client = entry.second.client();
    return !entry.second.ended() && (client.is_subscriber() || !is_bus_owner(client.peer()));
  }));
}

std::size_t ConnectionTable::count_of_user(uid_t uid) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      connections_, [uid](const auto& entry) { return entry.second.client().peer().uid == uid; }));
}

void ConnectionTable::count_subscriber(const ControlConnection& connection) {
  ++subscriber_count_;
  if (connection.client().may_park()) ++parking_count_;
}

void ConnectionTable::end(ControlConnection& connection) {
  if (connection.client().is_subscriber()) {
    --subscriber_count_;
    if (connection.client().may_park()) --parking_count_;
  }
  connection.close();
  ended_.push_back(connection.id());
}

std::vector<ConnectionId> ConnectionTable::erase_ended() {
  for (const ConnectionId id : ended_) connections_.erase(id);
  return std::exchange(ended_, {});
}

}  // namespace lapwing
