// The old listener's part of handing its socket to a successor, in steps that do not block.
//
//     successor                    this side
//     TakeOver           ──▶       begin()
//                        ◀──       HandedOver, the listening socket, the peers that wait
//     TakenOver          ──▶       look() is true
//
// Until look() is true both sides have the socket: whichever of them dies, the other one listens.
//
// Thread safety: one thread. Owns the socket to the successor.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/foreign_socket.h"
#include "os/local_socket.h"

namespace lapwing {

class HandOver {
 public:
  // To the peer behind `successor`, whose TakeOver waits there.
  HandOver(ForeignSocket successor, const PeerCredentials& peer, std::uint64_t deadline_ns)
      : successor_(std::move(successor)), peer_(peer), deadline_ns_(deadline_ns) {}

  // Sends the listening socket and the sockets of those that wait. Errors: kRefused (another user,
  // or version), kPeerGone, kProtocol.
  absl::Status begin(int listening, const std::vector<int>& waiting);
  // Whether the successor has everything. An error means that it has given up, or is given up, and
  // this side goes on listening: kPeerGone, kProtocol, kTimedOut.
  absl::StatusOr<bool> look();

  int fd() const { return successor_.get(); }
  std::uint64_t deadline_ns() const { return deadline_ns_; }

 private:
  std::string name() const;
  absl::StatusOr<bool> last_look();

  ForeignSocket successor_;
  PeerCredentials peer_;
  std::uint64_t deadline_ns_;
};

}  // namespace lapwing
