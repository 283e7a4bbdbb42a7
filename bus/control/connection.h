// The server's dialogue with one client: it handles the client's frames and answers them.
//
// Thread safety: one thread. Owns the client's socket.
//
// Invariant: wants_writable() exactly while a frame or part of a list is waiting for room in the
// socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bus/control/client_profile.h"
#include "bus/control/client_socket.h"
#include "bus/control/controlled_publisher.h"
#include "bus/control/list_sender.h"
#include "bus/control/rate_window.h"
#include "lapwing/error.h"
#include "lapwing/journal_state.h"
#include "lapwing/sequence.h"
#include "os/foreign_socket.h"
#include "os/frame_socket.h"
#include "os/local_socket.h"
#include "proto/control_frames.h"

namespace lapwing {

class ControlServer;

inline constexpr std::size_t kFlushesWaitingMax = 8;  // of one client, then it is dropped

using ConnectionId = std::uint64_t;  // in connection order, never reused

class ControlConnection {
 public:
  ControlConnection(ConnectionId id, ForeignSocket fd, const PeerCredentials& peer,
                    ControlServer& server, ControlledPublisher& publisher);

  ConnectionId id() const { return id_; }
  int fd() const { return socket_.fd(); }
  const ClientProfile& client() const { return client_; }

  // Both do a bounded amount of work, and either may end the connection.
  void read_frames();
  void write_frames();
  bool wants_writable() const { return socket_.has_queued() || lists_.pending(); }

  // Completes every flush at or below `durable`; fails the others unless the journal is good.
  // Returns the number of flushes answered.
  std::size_t answer_flushes(Sequence durable, JournalCondition journal);
  // Answers the waiting prune.
  void answer_prune(Sequence oldest, Errc result);
  std::size_t flushes_waiting() const { return flushes_.size(); }

  bool ended() const { return !socket_.valid(); }
  // For the server: see ControlServer::end.
  void close();

  bool watched_for_writing = false;  // the server's note

 private:
  void handle(const Packet& packet);
  void on_hello(const HelloFrame& hello);
  void on_flush(const FlushFrame& flush);
  void on_report(const ReportFrame& report);
  void on_prune(const PruneFrame& prune);
  void on_forget(const ForgetFrame& forget);
  void answer_flush(const FlushFrame& flush, Sequence durable, JournalCondition journal);
  void answer_prune(std::uint64_t tag, Sequence oldest, Errc result);
  void violation(const std::string& why);

  // Sends a frame, or queues it; drops a client that reads too little.
  template <typename Frame>
  void post(Frame frame) {
    on_posted(socket_.post(frame));
  }
  void on_posted(PostOutcome outcome);

  ConnectionId id_;
  ClientSocket socket_;
  ControlServer* server_;
  ControlledPublisher* publisher_;
  ClientProfile client_;
  RateWindow frames_{kFramesPerSecondMax};
  std::vector<FlushFrame> flushes_;         // waiting, with `through` clamped to head
  std::optional<std::uint64_t> prune_tag_;  // of the waiting prune
  ListSender lists_;
};

}  // namespace lapwing
