// One client of the control server: who it is, what it reported, and the frames it has yet to take.
//
// Thread safety: one thread. Owns the client's socket.
//
// Invariants
//  1. Frames leave in the order in which they were posted; at most kFramesQueuedMax wait.
//  2. wants_writable() exactly while a frame or a part of a list waits for room in the socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bus/control/rate_window.h"
#include "bus/control/socket.h"
#include "proto/control_frames.h"

namespace lapwing {

using SessionId = std::uint64_t;  // in the order of connecting, never reused

// How far a list of the subscribers has been sent. It goes out as the socket drains, straight from
// the live sessions, so a long list needs no queue; who connects after the question is not in it.
struct ListCursor {
  SessionId next = 0;
  SessionId end = 0;
  std::uint64_t count = 0;
};

class ControlSession {
 public:
  ControlSession(SessionId id, UniqueFd fd, const PeerCredentials& peer);

  SessionId id() const { return id_; }
  int fd() const { return fd_.get(); }
  const PeerCredentials& peer() const { return peer_; }
  bool ended() const { return !fd_.valid(); }
  void close();

  bool greeted() const { return greeted_; }
  void greet(const HelloFrame& hello);
  bool is_subscriber() const { return greeted_ && role_ == ClientRole::kSubscriber; }
  bool may_park() const { return may_park_; }
  void take_report(const ReportFrame& report);
  SubscriberInfoFrame info() const;
  // "name (pid 12, user 1000)", for the log.
  std::string description() const;

  bool admit_frame(std::uint64_t now_ns) { return frames_.admit(now_ns); }

  enum class Post { kDone, kQueueFull, kClosed };
  // Sends the frame, or queues it behind those that wait.
  Post post(std::span<const std::byte> frame);
  // Sends what the socket takes of the queue. False: the client is gone.
  bool send_queued();
  bool queue_empty() const { return queue_.empty(); }
  bool wants_writable() const { return !queue_.empty() || list.has_value(); }

  // Notes of who serves the session.
  std::optional<ListCursor> list;
  std::size_t flushes_waiting = 0;
  bool prune_waiting = false;
  bool watched_for_writing = false;

 private:
  SessionId id_;
  UniqueFd fd_;
  PeerCredentials peer_;
  std::uint64_t connected_wall_ns_;
  bool greeted_ = false;
  std::string name_;
  ClientRole role_ = ClientRole::kTool;
  bool may_park_ = false;
  std::uint32_t pid_ = 0;
  ReportFrame report_{};
  std::uint64_t reported_wall_ns_ = 0;  // 0: no report has come
  RateWindow frames_{kFramesPerSecondMax};
  std::deque<std::vector<std::byte>> queue_;
};

}  // namespace lapwing
