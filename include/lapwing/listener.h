// Listens on a path for channel peers, and serves them one after another.
//
//   auto listener = lapwing::ChannelListener::listen("/run/orders.sock");
//   for (;;) {
//     auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::Deadline::never());
//     ...
//   }
//
// A new process of the same program can take over the listening socket while this process still
// serves its peer. The new one calls take_over(), and this one calls tend() or accept(). Clients
// that connect in the meantime wait in the socket or are handed over with it, so no connect fails.
//
// In an event loop, poll fd(). When it is readable, call accept() with Deadline::now() until it
// returns kWouldBlock.
//
//   while (poll(...) > 0 && entry.revents != 0) {
//     auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::Deadline::now());
//     ...  // errc_of(consumer.status()) == Errc::kWouldBlock: back to poll()
//   }
//
// fd() also covers clients whose handshake is under way. It is readable when a client connects,
// sends its hello, leaves, or has been silent for too long.
//
// Threads: one thread at a time, any thread; interrupt() may be called at any time.
// Ownership: owns the socket and, until it is handed over, its name.
// Fork: in a forked child accept() and tend() return kForked, fd() is -1, and the destructor does
// nothing. The parent keeps the socket and its name.
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
  // `expected_peer_uid` if it is given. Errors: kInUse (a process listens there; see take_over),
  // kNotALapwingFile (a file, link or directory is there), kNotPermitted (another user's socket).
  // After these three errors the path is unchanged. Also kNotFound, kPathTooLong, kSystem.
  [[nodiscard]] static absl::StatusOr<ChannelListener> listen(
      const std::string& path, std::optional<uid_t> expected_peer_uid = std::nullopt);

  // Replaces the process that listens on `path`, as soon as that process calls accept() or tend().
  // That process continues to serve its current peer. If one of the two dies during the handover,
  // the other one listens. Errors: kNoBus and kPeerGone (no process listens there: use listen()),
  // kTimedOut, kRefused, kNotPermitted, kProtocol.
  [[nodiscard]] static absl::StatusOr<ChannelListener> take_over(
      const std::string& path, Deadline deadline,
      std::optional<uid_t> expected_peer_uid = std::nullopt);

  ChannelListener(ChannelListener&&) noexcept;
  ChannelListener& operator=(ChannelListener&&) noexcept;
  // Removes the socket's name, unless it was handed over. If a successor is taking it over at that
  // moment, waits at most one second for the successor.
  ~ChannelListener();

  [[nodiscard]] const std::string& path() const;

  // ChannelProducer::accept, ChannelConsumer::accept and Duplex::accept serve the next peer. An
  // unexpected peer, or one that violates the protocol, is refused and counted, and the next one is
  // served. Errors of accept(): kTimedOut. With Deadline::now(), kWouldBlock if no client can be
  // served now. kClosed: handed over. kLimit: no descriptors. Also kInterrupted, kInvalidArgument
  // (the options), kNoSpace, kSystem. It exceeds its deadline only to allocate this side's memory.

  // Drops clients that stay silent, and lets a successor take over. While a peer is served, call it
  // when fd() is readable. Never blocks. Errors: kClosed once handed over; those of accept().
  [[nodiscard]] absl::Status tend();
  // Readable when the last call, accept() or tend(), would have work to do if it were repeated. To
  // switch from tend() to accept(), call accept() before the next poll. -1 once handed over.
  [[nodiscard]] int fd() const;
  // Ends the accept() that is under way, or else the next one. Safe from any thread and from a
  // signal handler.
  void interrupt() noexcept;

  [[nodiscard]] bool handed_over() const;
  [[nodiscard]] std::uint64_t refused() const;  // peers, for any reason
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
  // Returns kInvalidArgument if accept() could not serve any peer with these options.
  absl::Status check_expected(const ChannelOptions& options) const;
  // For a wait set; null: moved from. Its address does not change when the listener is moved.
  WaitSource* wait_source();
  StateHandle state_;
};

}  // namespace lapwing
