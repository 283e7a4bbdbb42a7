// The alternative to a channel: messages over a Unix socket, written from a buffer of the sender
// and read into a buffer of the receiver.
//
// Thread safety: one thread in each of two processes.
#pragma once

#include <cstddef>

namespace lapwing::bench {

// Two connected sockets of the given type (SOCK_STREAM or SOCK_SEQPACKET), created before the child
// that uses the second one. Their buffers have `buffer_bytes`, or the maximum that the kernel
// allows.
class SocketPair {
 public:
  SocketPair(int type, std::size_t buffer_bytes);
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  ~SocketPair();

  // One send and one receive per message, unless a stream splits it.
  void send(const std::byte* message, std::size_t bytes) const;
  void receive(std::byte* message, std::size_t bytes) const;

  // True if a message of `bytes` bytes can be sent in one call. Leaves it in the socket.
  bool takes(std::size_t bytes) const;

 private:
  // Not a UniqueFd, because a forked child must not close it twice.
  int sending_ = -1;
  int receiving_ = -1;
};

}  // namespace lapwing::bench
