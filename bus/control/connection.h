// One client's connection to the control server: the client's identity, its reports, and the
// exchange of frames with it.
//
// Thread safety: one thread. Owns the client's socket.
//
// Invariants
//  1. Frames are sent in the order in which they were posted; at most kFramesQueuedMax wait.
//  2. wants_writable() is true exactly while a frame or part of a list waits for socket room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bus/control/controlled_publisher.h"
#include "bus/control/rate_window.h"
#include "bus/control/socket.h"
#include "lapwing/error.h"
#include "lapwing/journal_state.h"
#include "lapwing/sequence.h"
#include "os/foreign_socket.h"
#include "proto/control_frames.h"

namespace lapwing {

class ControlServer;

inline constexpr std::size_t kFlushesWaitingMax = 8;  // of one client; one more and it is dropped

using ConnectionId = std::uint64_t;  // in connection order, never reused

class ControlConnection {
 public:
  ControlConnection(ConnectionId id, ForeignSocket fd, const PeerCredentials& peer,
                    ControlServer& server, ControlledPublisher& publisher);

  ConnectionId id() const { return id_; }
  int fd() const { return fd_.get(); }
  const PeerCredentials& peer() const { return peer_; }
  bool greeted() const { return greeted_; }
  bool is_subscriber() const { return greeted_ && role_ == ClientRole::kSubscriber; }
  bool may_park() const { return may_park_; }
  SubscriberInfoFrame info() const;
  // The last reported ages of records; nullopt if the client does not measure them.
  const std::optional<LatencyReportFrame>& latency() const { return latency_; }
  // Whether it is a subscriber with a client slot.
  bool attached() const { return attached_; }
  // Makes an event of this client, with the values of its last report.
  EventInfoFrame event(BusEventKind kind) const;
  // "name (pid 12, user 1000)", for the log.
  std::string description() const;

  // Each does a bounded amount of work and may end the connection.
  void read_frames();
  void write_frames();
  bool wants_writable() const {
    return !queue_.empty() || list_.has_value() || events_.has_value();
  }

  // Completes every flush at or below `durable`; fails the others unless the journal is good.
  // Returns the number of answered flushes.
  std::size_t answer_flushes(Sequence durable, JournalCondition journal);
  // Answers the waiting prune.
  void answer_prune(Sequence oldest, Errc result);
  std::size_t flushes_waiting() const { return flushes_.size(); }

  bool ended() const { return !fd_.valid(); }
  // For the server: see ControlServer::end.
  void close();

  bool watched_for_writing = false;  // set by the server

 private:
  // The progress of sending a list of subscribers or events. Entries are read from their source as
  // the socket drains, so a long list needs no queue. Entries added after the request are not sent.
  struct ListCursor {
    std::uint64_t next = 0;  // ConnectionId or number
    std::uint64_t end = 0;
    std::uint64_t tag = 0;
    std::uint64_t count = 0;
    bool is_halfway = false;  // only the latency of `next` is left to send
    std::size_t missing = 0;  // missing subscribers that have been sent
  };

  void handle(const Packet& packet);
  void on_hello(const HelloFrame& hello);
  void on_flush(const FlushFrame& flush);
  void on_report(const ReportFrame& report);
  void on_list(const ListSubscribersFrame& list);
  void on_prune(const PruneFrame& prune);
  void on_list_events(const ListEventsFrame& list);
  void on_latency(const LatencyReportFrame& latency);
  void on_forget(const ForgetFrame& forget);
  void count_losses(const ReportFrame& report);
  void answer_flush(const FlushFrame& flush, Sequence durable, JournalCondition journal);
  void answer_prune(std::uint64_t tag, Sequence oldest, Errc result);
  // Sends the next frame of a list. The last frame ends the list.
  SendOutcome send_of_list();
  SendOutcome send_of_events();
  SendOutcome send_subscriber(const ControlConnection& subscriber);
  SendOutcome send_missing(const SubscriberInfoFrame& subscriber);
  // Calls one of them until the list ends, the socket is full, or other clients are due.
  void stream(std::optional<ListCursor>& list, SendOutcome (ControlConnection::*send_next)());
  EndOfListFrame end_of_list() const;
  EndOfEventsFrame end_of_events() const;
  void violation(const std::string& why);

  // Sends or queues a frame. Drops a client that reads too slowly.
  template <typename Frame>
  void post(Frame frame) {
    post_bytes(bytes_for_client(frame));
  }
  // Sends a frame and bypasses the queue.
  template <typename Frame>
  SendOutcome send(Frame frame) {
    return send_frame(fd(), bytes_for_client(frame));
  }
  // A client of version 1 accepts only frames with exactly their first sizes.
  template <typename Frame>
  std::span<const std::byte> bytes_for_client(Frame& frame) const {
    if (version_ == 1) {
      frame.header.length = static_cast<std::uint32_t>(first_frame_bytes(frame.header.type));
    }
    return std::as_bytes(std::span(&frame, 1)).first(frame.header.length);
  }
  void post_bytes(std::span<const std::byte> frame);
  bool send_queued();

  ConnectionId id_;
  ForeignSocket fd_;
  PeerCredentials peer_;
  ControlServer* server_;
  ControlledPublisher* publisher_;
  std::uint64_t connected_wall_ns_;
  bool greeted_ = false;
  bool attached_ = false;
  std::uint32_t version_ = 0;  // of the protocol, once greeted
  std::string name_;
  ClientRole role_ = ClientRole::kTool;
  bool may_park_ = false;
  bool observes_ = false;
  std::uint32_t pid_ = 0;
  std::uint64_t process_start_ = 0;  // as in ProcessIdentity
  ReportFrame report_{};
  std::uint64_t reported_wall_ns_ = 0;  // 0: no report yet
  std::uint64_t heard_ns_;              // of the last report or of connecting, CLOCK_MONOTONIC
  std::optional<LatencyReportFrame> latency_;
  RateWindow frames_{kFramesPerSecondMax};
  std::vector<FlushFrame> flushes_;         // waiting, with `through` clamped to head
  std::optional<std::uint64_t> prune_tag_;  // of the waiting prune
  std::optional<ListCursor> list_;
  std::optional<ListCursor> events_;
  std::deque<std::vector<std::byte>> queue_;
};

}  // namespace lapwing
