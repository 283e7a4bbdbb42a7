// Listens on a path for the other sides of channels, and serves one after another.
//
//   auto listener = lapwing::ChannelListener::listen("/run/orders.sock");
//   for (;;) {
//     auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::Deadline::never());
//     ...
//   }
//
// A new process of the same program can take the listening socket over while this one still serves
// its peer: take_over() there, tend() or accept() here. Clients that connect meanwhile wait in the
// socket, or are handed over with it; no connect fails.
//
// In an event loop: poll fd(), and when it is readable call accept() with Deadline::now() until it
// answers kWouldBlock.
//
//   while (poll(...) > 0 && entry.revents != 0) {
//     auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::Deadline::now());
//     ...  // errc_of(consumer.status()) == Errc::kWouldBlock: back to poll()
//   }
//
// fd() covers clients whose handshake is under way, too: it is readable when a client connects,
// says hello, leaves, or has been silent for too long.
//
// Threads: one thread at a time, any thread; interrupt() at any time.
// Ownership: the socket and, until it is handed over, its name.
// Fork: in a forked child accept() and tend() answer kForked, fd() is -1, and the destructor does
// nothing: socket and name stay this process's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/channel.h"

namespace lapwing {

class ChannelSide;
class WaitSource;
enum class ChannelRole : std::uint32_t;

class ChannelListener {
 public:
  // Makes the socket at `path`. Only this process's user and root may connect (mode 0600), or only
  // `expected_peer_uid` if it is given. Errors: kInUse (somebody listens there; see take_over),
  // kNotALapwingFile (a file, link or directory is there) and kNotPermitted (another user's
  // socket), all of which leave it untouched; kNotFound, kPathTooLong, kSystem.
  [[nodiscard]] static absl::StatusOr<ChannelListener> listen(
      const std::string& path, std::optional<uid_t> expected_peer_uid = std::nullopt);

  // Becomes the listener in the place of the one that listens on `path` now, as soon as that one
  // calls accept() or tend(). It goes on serving the peer that it has. Whichever of the two dies
  // on the way, the other one listens. Errors: kNoBus and kPeerGone (nobody listens there: use
  // listen()), kTimedOut, kRefused, kNotPermitted, kProtocol.
  [[nodiscard]] static absl::StatusOr<ChannelListener> take_over(
      const std::string& path, Deadline deadline,
      std::optional<uid_t> expected_peer_uid = std::nullopt);

  ChannelListener(ChannelListener&&) noexcept;
  ChannelListener& operator=(ChannelListener&&) noexcept;
  // Removes the socket's name, unless it was handed over. Waits for a successor that is just taking
  // it over, for a second at most.
  ~ChannelListener();

  [[nodiscard]] const std::string& path() const;

  // ChannelProducer::accept and its siblings serve the next peer. Those that are not expected or do
  // not keep to the protocol are refused and counted, and the next one is served. Errors of an
  // accept: kTimedOut, or kWouldBlock with Deadline::now(), with which it serves a client that can
  // be served now; kInterrupted, kClosed (handed over), kInvalidArgument (the options), kLimit (no
  // descriptors), kNoSpace, kSystem. It waits beyond its deadline only to make this side's memory.

  // For while a peer is served: drops clients that stay silent, and lets a successor take over.
  // Call it when fd() is readable. Never blocks. kClosed once handed over; else as accept().
  [[nodiscard]] absl::Status tend();
  // Readable when the call that was made last, accept() or tend(), has something to do; to go from
  // tend() to accept(), call accept() before the next poll. -1 once handed over.
  [[nodiscard]] int fd() const;
  // Ends the accept() that is under way, or else the next one. From any thread, also from a signal
  // handler.
  void interrupt() noexcept;

  [[nodiscard]] bool handed_over() const;
  [[nodiscard]] std::uint64_t refused() const;  // peers, whatever the reason
  [[nodiscard]] const absl::Status& last_refusal() const;

 private:
  friend class ChannelConsumer;
  friend class ChannelProducer;
  friend class Duplex;
  friend class DuplexServer;
  friend class WaitSet;
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  explicit ChannelListener(StateHandle state);
  absl::StatusOr<std::unique_ptr<ChannelSide>> accept(ChannelRole role,
                                                      const ChannelOptions& options,
                                                      Deadline deadline);
  // Whether accept() can serve anybody with these options: kInvalidArgument.
  absl::Status check_expected(const ChannelOptions& options) const;
  // For a wait set; null: moved from. It stays where it is when the listener is moved.
  WaitSource* wait_source();
  StateHandle state_;
};

}  // namespace lapwing
