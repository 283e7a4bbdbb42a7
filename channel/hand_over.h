// The old listener's part in handing over its socket to a successor, in steps that do not block.
//
//     successor                    this side
//     TakeOver           ──▶       begin()
//                        ◀──       HandedOver, the listening socket, the waiting peers' sockets
//     TakenOver          ──▶       look() returns true
//
// Until look() returns true, both sides have the socket. If one of them is killed, the other one
// listens.
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
  // Hands over to the peer behind `successor`, whose TakeOver is waiting there.
  HandOver(ForeignSocket successor, const PeerCredentials& peer, std::uint64_t deadline_ns)
      : successor_(std::move(successor)), peer_(peer), deadline_ns_(deadline_ns) {}

  // Sends the listening socket and the sockets of the waiting peers. Errors: kRefused (another user
  // or version), kPeerGone, kProtocol.
  absl::Status begin(int listening, const std::vector<int>& waiting);
  // Whether the successor has everything. After an error the hand-over has failed, and this side
  // continues to listen: kPeerGone, kProtocol, kTimedOut.
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
