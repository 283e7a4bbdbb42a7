// The lists that a client requests: the subscribers, and the events of the session.
//
// A list is sent as the socket drains, directly from its source, so a long list needs no queue and
// does not get its client dropped. It contains no entry added after the request.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bus/control/client_socket.h"
#include "proto/control_frames.h"

namespace lapwing {

class ControlConnection;
class ControlServer;

class ListSender {
 public:
  // Borrows the server that owns the lists.
  explicit ListSender(ControlServer& server) : server_(&server) {}

  // Both replace a list of the same kind that has not ended: its client no longer waits for it.
  void start(const ListSubscribersFrame& list);
  void start(const ListEventsFrame& list);
  bool pending() const { return list_.has_value() || events_.has_value(); }
  // Sends until the lists end, the socket is full, or it is the other clients' turn.
  SendOutcome send(ClientSocket& socket);

 private:
  struct Cursor {
    std::uint64_t next = 0;  // ConnectionId or number
    std::uint64_t end = 0;
    std::uint64_t tag = 0;
    std::uint64_t count = 0;
    bool is_halfway = false;  // `next` has been sent, but its latency has not
    std::size_t missing = 0;  // missing subscribers that have been sent
  };

  // Each sends the next frame of a list; the last one ends it.
  SendOutcome send_of_list(ClientSocket& socket);
  SendOutcome send_of_events(ClientSocket& socket);
  SendOutcome send_subscriber(ClientSocket& socket, const ControlConnection& subscriber);
  SendOutcome send_missing(ClientSocket& socket, const SubscriberInfoFrame& subscriber);
  EndOfListFrame end_of_list() const;
  EndOfEventsFrame end_of_events() const;

  ControlServer* server_;
  std::optional<Cursor> list_;
  std::optional<Cursor> events_;
};

}  // namespace lapwing
