// What users have otherwise: messages over a Unix socket, each written to a buffer of the sender's
// and read in one of the receiver's.
//
// Thread safety: one thread in each of two processes.
#pragma once

#include <cstddef>

namespace lapwing::bench {

// Two connected sockets of that type (SOCK_STREAM or SOCK_SEQPACKET), made before the child that
// uses the other one. Their buffers are of `buffer_bytes`, or as large as the kernel allows a user.
class SocketPair {
 public:
  SocketPair(int type, std::size_t buffer_bytes);
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  ~SocketPair();

  // One send and, but for what a stream divides, one receive a message.
  void send(const std::byte* message, std::size_t bytes) const;
  void receive(std::byte* message, std::size_t bytes) const;

  // Whether a message of `bytes` bytes can be sent as one. Leaves it in the socket.
  bool takes(std::size_t bytes) const;

 private:
  // Not of UniqueFd, which a forked child does not have.
  int sending_ = -1;
  int receiving_ = -1;
};

}  // namespace lapwing::bench
