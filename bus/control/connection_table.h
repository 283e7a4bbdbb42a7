// The connections of a control server, by id.
//
// Thread safety: one thread. Owns the connections.
//
// Invariants
//  1. A connection that ends stays until erase_ended(), so a reference to it stays valid while one of
//     its frames is handled. No lookup finds it.
//  2. An id is never reused.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <vector>

#include "bus/control/connection.h"

namespace lapwing {

class ConnectionTable {
 public:
  ConnectionId add(ForeignSocket fd, const PeerCredentials& peer, ControlServer& server,
                   ControlledPublisher& publisher);
  ConnectionId next_id() const { return next_id_; }
  // Null if there is none, or if it has ended.
  ControlConnection* find(ConnectionId id);
  // The first subscriber with an id of at least `from`; null if there is none.
  const ControlConnection* next_subscriber(ConnectionId from) const;
  // Includes connections that have ended.
  std::map<ConnectionId, ControlConnection>& all() { return connections_; }
  std::size_t size() const { return connections_.size(); }

  // All connections except those of the owner and root that have not subscribed.
  std::size_t client_count() const;
  std::size_t count_of_user(uid_t uid) const;
  // For a subscriber whose Hello has just arrived. end() reverses it.
  void count_subscriber(const ControlConnection& connection);
  std::size_t subscriber_count() const { return subscriber_count_; }
  std::size_t parking_count() const { return parking_count_; }  // subscribers that may park

  // Closes a connection that has not ended.
  void end(ControlConnection& connection);
  // Returns the erased ids.
  std::vector<ConnectionId> erase_ended();

 private:
  std::map<ConnectionId, ControlConnection> connections_;
  ConnectionId next_id_ = 1;
  std::vector<ConnectionId> ended_;
  std::size_t subscriber_count_ = 0;
  std::size_t parking_count_ = 0;
};

}  // namespace lapwing
