// Listens on a path for the other sides of channels, and serves one after another.
//
//   auto listener = lapwing::ChannelListener::listen("/run/orders.sock");
//   for (;;) {
//     auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::kNoDeadline);
//     ...
//   }
//
// A new process of the same program can take the listening socket over while this one still serves
// its peer: take_over() there, tend() or accept() here. Whoever connects meanwhile waits in the
// socket, or comes along with it; no connect fails.
//
// Thread safety: one thread. Owns the socket and, until it is handed over, its name.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/channel/handshake.h"

namespace lapwing {

class ChannelListener {
 public:
  // Makes the socket at `path`. Only this process's user and root may connect (mode 0600), or only
  // `expected_peer_uid` if it is given. Errors: kBusTaken (somebody listens there; see take_over),
  // kNotALapwingFile (a file, link or directory is there) and kNotPermitted (another user's
  // socket), all of which leave it untouched; kNotFound, kPathTooLong, kSystem.
  static absl::StatusOr<ChannelListener> listen(
      const std::string& path, std::optional<uid_t> expected_peer_uid = std::nullopt);

  // Becomes the listener in the place of the one that listens on `path` now, as soon as that one
  // calls accept() or tend(). It goes on serving the peer that it has. Whichever of the two dies
  // on the way, the other one listens. Errors: kNoBus and kPeerGone (nobody listens there: use
  // listen()), kTimedOut, kRefused, kNotPermitted, kProtocol.
  static absl::StatusOr<ChannelListener> take_over(
      const std::string& path, std::uint64_t deadline_ns,
      std::optional<uid_t> expected_peer_uid = std::nullopt);

  ChannelListener(ChannelListener&&) noexcept;
  ChannelListener& operator=(ChannelListener&&) = delete;
  ~ChannelListener();  // removes the socket's name, unless it was handed over

  const std::string& path() const { return path_; }

  // The next peer, for which this side is `role`; ChannelProducer::accept and its siblings call it.
  // Peers that are not expected or do not keep to the protocol are refused, counted, and the next
  // one is served. Errors: kTimedOut, kClosed (handed over), kLimit (no descriptors), kSystem, and
  // those of OwnMemory.
  absl::StatusOr<std::unique_ptr<ChannelSession>> accept(ChannelRole role,
                                                         const ChannelOptions& options,
                                                         std::uint64_t deadline_ns);

  // To be called now and then while a peer is served, and not only when fd() is readable, since a
  // successor asks a moment after it has connected: lets it take over. Never blocks for longer than
  // kHandshakeNs, and that only for a successor. kClosed once handed over; else as accept().
  absl::Status tend();
  int fd() const { return fd_.get(); }

  bool handed_over() const { return handed_over_; }
  std::uint64_t refused() const { return refused_; }  // peers, whatever the reason
  const absl::Status& last_refusal() const { return last_refusal_; }

 private:
  // Connected, and not yet served: nothing of what it sent has been taken.
  struct Waiting {
    UniqueFd fd;
    PeerCredentials peer;
    std::uint64_t since_ns;
  };

  ChannelListener(std::string path, UniqueFd fd, std::optional<uid_t> expected_peer_uid);
  absl::Status take_in();
  absl::Status hand_over_if_asked();
  absl::Status hand_over(const Waiting& successor);
  absl::StatusOr<std::unique_ptr<ChannelSession>> serve_next(ChannelRole role,
                                                             const ChannelOptions& options);
  void drop_silent();
  void turn_away(int fd, const absl::Status& why);
  void note_refusal(const absl::Status& why);
  void wait_for_anything(std::uint64_t deadline_ns) const;
  void remove_name();

  std::string path_;
  UniqueFd fd_;
  std::optional<uid_t> expected_peer_uid_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::vector<Waiting> waiting_;  // at most kPeersWaitingMax, in the order of connecting
  bool handed_over_ = false;
  std::uint64_t refused_ = 0;
  absl::Status last_refusal_;
};

}  // namespace lapwing
