// The socket of one client, and the frames that are waiting for room in it.
//
// Thread safety: one thread. Owns the socket.
//
// Invariants
//  1. Frames leave in the order in which they were posted; at most kFramesQueuedMax wait.
//  2. A version 1 client gets frames of exactly their first sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "os/foreign_socket.h"
#include "os/frame_socket.h"
#include "proto/control_frames.h"

namespace lapwing {

enum class PostOutcome { kSent, kQueued, kFull, kClosed };

class ClientSocket {
 public:
  explicit ClientSocket(ForeignSocket fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  bool valid() const { return fd_.valid(); }
  // A child of the publisher's process may also hold the socket: while it is being forked, or if
  // clone() made it. The client is notified all the same: reset() shuts the socket down.
  void close() { fd_.reset(); }

  // The version of the dialogue; 0 before Hello.
  std::uint32_t version() const { return version_; }
  void set_version(std::uint32_t version) { version_ = version; }

  // Sends a frame, or queues it if the socket is full or other frames are waiting.
  template <typename Frame>
  PostOutcome post(Frame frame) {
    return post_bytes(bytes_for_client(frame));
  }
  // Sends a frame without queueing it. Only while !has_queued().
  template <typename Frame>
  SendOutcome send(Frame frame) {
    return send_frame(fd(), bytes_for_client(frame));
  }
  bool has_queued() const { return !queue_.empty(); }
  // Sends queued frames until the socket is full. kSent: none is left.
  SendOutcome send_queued();

 private:
  template <typename Frame>
  std::span<const std::byte> bytes_for_client(Frame& frame) const {
    if (version_ == 1) {
      frame.header.length = static_cast<std::uint32_t>(first_frame_bytes(frame.header.type));
    }
    return std::as_bytes(std::span(&frame, 1)).first(frame.header.length);
  }
  PostOutcome post_bytes(std::span<const std::byte> frame);

  ForeignSocket fd_;
  std::uint32_t version_ = 0;
  std::deque<std::vector<std::byte>> queue_;
};

}  // namespace lapwing
