// The publisher's end of the control socket: accepting, admission, limits, refusals and drops.
// connection.h exchanges the frames with each client.
//
// Thread safety: one thread (the service thread). Owns the listening socket, its name, the epoll
// set and every connection.
//
// The server answers Hello, lists and reports. It passes Flush and Prune to the publisher, which
// answers them through answer_flushes() and answer_prune(). The owner calls answer_flushes()
// whenever durable or the journal's condition has changed. It also does so after every turn while
// flushes are waiting, because durable may have advanced since the connection read the Welcome.
//
// Limits (in connection.h and proto/control_frames.h): clients, frame rate, handshake time, queued
// frames, work per turn. A client that exceeds a limit is refused or dropped, counted by reason and
// logged with a rate limit. The reason is sent to the client if its socket has room. A client
// cannot block the thread or starve other clients.
//
// Invariants
//  1. A connection that ends is closed at once, but erased only after the turn or the answers. So a
//     reference stays valid while a frame of the connection is handled.
//  2. An id is never reused, so an event or answer for an ended connection is discarded.
//  3. A turn does a bounded amount of work. If work is left, epoll_fd() stays readable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/control/client_profile.h"
#include "bus/control/connection.h"
#include "bus/control/connection_table.h"
#include "bus/control/controlled_publisher.h"
#include "bus/control/drop_log.h"
#include "bus/control/event_log.h"
#include "bus/control/listener.h"
#include "bus/control/missing_subscribers.h"
#include "bus/control/socket.h"
#include "lapwing/error.h"
#include "lapwing/journal_state.h"
#include "lapwing/sequence.h"
#include "os/foreign_socket.h"
#include "os/unique_fd.h"
#include "proto/control_frames.h"

namespace lapwing {

struct ServerOptions {
  std::string path;               // of the socket
  std::optional<unsigned> group;  // gid whose members may connect, in addition to owner and root
  std::vector<SubscriberInfoFrame> expected = {};  // attached when the last session ended
  std::vector<EventInfoFrame> events = {};         // from before the server started
};

class ControlServer {
 public:
  // Borrows the publisher. Errors: those of listen_control; kSystem if epoll fails.
  static absl::StatusOr<std::unique_ptr<ControlServer>> start(const ServerOptions& options,
                                                              ControlledPublisher& publisher);
  ~ControlServer() { close(); }
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  int epoll_fd() const { return epoll_.get(); }  // readable when turn() has work
  // Accepts clients, reads and answers frames, and expires handshakes. Never blocks. Returns the
  // monotonic time at which the next turn is needed (UINT64_MAX: none).
  std::uint64_t turn(std::uint64_t now_ns);

  // Completes every flush at or below `durable`; fails the others unless the journal is good.
  void answer_flushes(Sequence durable, JournalCondition journal);
  // Answers the prune that prune_wanted announced. The next one is announced only after that.
  void answer_prune(Sequence oldest, Errc result);
  bool flushes_waiting() const { return flushes_waiting_ > 0; }
  bool prune_waiting() const { return !prunes_.empty(); }

  std::size_t subscriber_count() const { return connections_.subscriber_count(); }
  std::size_t parking_count() const { return connections_.parking_count(); }
  // Totals reported by all subscribers, including disconnected ones.
  std::uint64_t gaps_reported() const { return reported_.gaps; }
  std::uint64_t lost_reported() const { return reported_.lost; }
  // The events. The owner adds its own.
  EventLog& events() { return events_; }
  // Subscribers of the last session that have not returned.
  MissingSubscribers& missing() { return missing_; }
  const DropLog& drops() const { return drops_; }
  std::vector<SubscriberInfoFrame> subscribers() const;  // without the missing ones

  // Removes the socket's name, if it is still this server's, and closes every connection.
  // Idempotent.
  void close();

 private:
  friend class ControlConnection;
  friend class ListSender;

  struct Handshake {
    ConnectionId connection;
    std::uint64_t deadline_ns;
  };
  struct WaitingPrune {
    ConnectionId connection;
    Sequence below;
  };

  ControlServer(const ServerOptions& options, ControlledPublisher& publisher);

  // For connections.
  std::uint64_t now_ns() const { return now_ns_; }
  ConnectionTable& connections() { return connections_; }
  void count_losses(const Losses& losses);
  void want_flush(Sequence through);
  void want_prune(ConnectionId id, Sequence below);
  // Watches for writability exactly while the connection has something to write.
  void watch(ControlConnection& connection);
  // Sends the reason to the client, if its socket has room, and ends the connection.
  void drop(ControlConnection& connection, DropReason reason, Errc code, const std::string& why);
  void end(ControlConnection& connection);

  absl::Status open(const std::string& path);
  void accept_clients();
  void admit(ForeignSocket fd);
  // Counts and logs the case, and adds it as an event of this client.
  void note_drop(EventInfoFrame client, DropReason reason, const std::string& who,
                 const std::string& why);
  void pause_accepting(int error);
  void expire_handshakes();
  std::uint64_t next_deadline() const;
  void erase_ended();

  std::optional<unsigned> group_;
  ControlledPublisher* publisher_;
  MissingSubscribers missing_;
  DropLog drops_;
  EventLog events_;
  UniqueFd epoll_;
  ControlListener listener_;  // closed with the server

  ConnectionTable connections_;
  std::deque<Handshake> handshakes_;  // connections without a Hello, oldest first
  std::deque<WaitingPrune> prunes_;   // the first has been announced
  std::size_t flushes_waiting_ = 0;   // of all connections
  Losses reported_;
  std::uint64_t now_ns_ = 0;  // of the current or last turn
  bool in_turn_ = false;
};

}  // namespace lapwing
