// A server for many duplex clients on one path, in one thread, for example an order gateway.
//
//   auto server = lapwing::DuplexServer::open("/run/gateway.sock", {.clients_max = 100});
//   for (;;) {
//     const lapwing::Result<lapwing::ServerEvent> event = server->wait();
//     if (!event.ok()) report(server->status());  // the others are served
//     const lapwing::Incoming& message = event->message;
//     if (const auto order = message.as<Order>(); order && message.is(Kind::kNew)) {
//       sent = server->try_reply(event->client, message.call, Accepted{}, Kind::kAccepted);
//     }
//     if (event->kind == lapwing::ServerEvent::Kind::kGone) forget(event->client);
//   }
//
// A client connects with Duplex::connect, and leaves when it closes its end, dies, or is dropped.
// Set ChannelOptions::retry in a client to reconnect after the server restarts.
//
// No client delays another. wait() serves the clients in turn, with at most turn_events_max events
// per turn, and accepts connections in between. wait() is the only operation that waits.
// If a client has no room for an operation, the operation returns kWouldBlock, and a kRoom event
// reports when to retry it. A client that takes nothing can be dropped. When a client connects, the
// server allocates its memory for the client, which delays the other clients
// (ChannelOptions::capacity). So use small channels in a server with many clients.
//
// A sleeping server wakes once a second. Once the server has slept, idle clients cost no more than
// that, even if other clients are busy.
//
// A server can be a source of a WaitSet, together with buses, timers and other sources. In an event
// loop, use arm() and fd().
//
// A new process can take the path over from a running server. Existing clients stay with the old
// server until they leave:
//
//   auto listener = lapwing::ChannelListener::take_over(path, std::chrono::seconds(10));
//   auto server = lapwing::DuplexServer::open(*std::move(listener));
//
// Threads: one thread at a time, any thread. A call made during a wait returns kMisuse.
// interrupt() may be called at any time. Forks: as for
// every channel end (lapwing/channel.h). Errors: see
// Errc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/channel.h"
#include "lapwing/duplex.h"
#include "lapwing/listener.h"
#include "lapwing/result.h"

namespace lapwing {

class WaitSource;

inline constexpr std::uint32_t kServerClientsMax = 4096;

// Identifies a client of a server. A server never reuses an id. 0: no client.
using ClientId = std::uint64_t;

struct DuplexServerOptions {
  // The options of this side of each client's channel. `wait` sets how wait() waits, and
  // expected_peer_uid is the user that may connect.
  ChannelOptions channel = {};
  // If this many clients are connected, the next one waits in connect until one has left.
  std::uint32_t clients_max = 64;  // at most kServerClientsMax
  // The most events returned for one client before the next client's turn.
  std::uint32_t turn_events_max = 16;
};

// A client event.
struct ServerEvent {
  enum class Kind : std::uint32_t {
    kConnected = 1,   // a new client
    kMessage = 2,     // `message` is a call to be answered, or a one-way message, from the client
    kReply = 3,       // `reply` is the end of a call to the client, or a late reply
    kRoom = 4,        // an operation that returned kWouldBlock can be retried
    kGone = 5,        // the client has left, and everything it sent was delivered; see `why`
    kHandedOver = 6,  // a successor accepts from now on; `client` is 0
  };

  Kind kind = {};
  ClientId client = 0;
  // The payloads are valid until the next wait, unless the client is dropped earlier. The payload
  // of a reply is valid until the next call to the client is started.
  Incoming message = {};
  Result<Reply> reply = Errc::kWouldBlock;
  Errc why = Errc::kOk;  // kClosed, kPeerGone, kCorrupt; status() has the text
};

class DuplexServer {
 public:
  // Listens at `path`. Errors: those of ChannelListener::listen, kInvalidArgument (the options).
  [[nodiscard]] static absl::StatusOr<DuplexServer> open(const std::string& path,
                                                         const DuplexServerOptions& options = {});
  // Uses an existing listener, for example one from ChannelListener::take_over.
  [[nodiscard]] static absl::StatusOr<DuplexServer> open(ChannelListener listener,
                                                         const DuplexServerOptions& options = {});
  DuplexServer(DuplexServer&&) noexcept;
  DuplexServer& operator=(DuplexServer&&) noexcept;
  // Closes the channel of each client, and removes the name unless it was handed over.
  ~DuplexServer();

  // Returns the next event of any client. After kGone, the client's counters are available until
  // the next wait. Errors: kTimedOut, kWouldBlock, kInterrupted, kMisuse, kForked. kClosed: the
  // path was handed over and the last client has left. Any other error is the reason why a client
  // could not be accepted (lapwing/listener.h). The next wait serves the other clients.
  Result<ServerEvent> try_wait();
  Result<ServerEvent> wait(Deadline deadline = Deadline::never());

  // These work as in Duplex, for one client, and never wait. kWouldBlock: the client has no room,
  // or its window is full. wait() returns a kRoom event when there may be room. kNotFound: the
  // client has left, or never existed.
  Result<> try_reply(ClientId client, CallId call, std::span<const std::byte> payload,
                     std::uint32_t type);
  template <PlainPayload Answer, MessageType Type>
  Result<> try_reply(ClientId client, CallId call, const Answer& answer, Type type) {
    return try_reply(client, call, detail::bytes_of(answer), number_of(type));
  }
  Result<> try_reply_error(ClientId client, CallId call, std::uint32_t code,
                           const std::string& text);
  Result<> try_send(ClientId client, std::span<const std::byte> payload, std::uint32_t type);
  template <PlainPayload Payload, MessageType Type>
  Result<> try_send(ClientId client, const Payload& payload, Type type) {
    return try_send(client, detail::bytes_of(payload), number_of(type));
  }
  // Starts a call to the client, which ends with a kReply event by `deadline`.
  Result<CallId> try_start(ClientId client, std::span<const std::byte> payload, std::uint32_t type,
                           Deadline deadline = Deadline::never());
  template <PlainPayload Request, MessageType Type>
  Result<CallId> try_start(ClientId client, const Request& request, Type type,
                           Deadline deadline = Deadline::never()) {
    return try_start(client, detail::bytes_of(request), number_of(type), deadline);
  }
  Result<> cancel(ClientId client, CallId call);
  [[nodiscard]] bool is_cancelled(ClientId client, CallId call);

  // Closes the client's channel and forgets the client. Its events are no longer returned.
  Result<> drop(ClientId client);

  // Clients whose channel is open.
  [[nodiscard]] std::size_t clients() const;
  // "pid 12 of user 1000"; empty if there is no such client.
  [[nodiscard]] std::string peer(ClientId client) const;
  [[nodiscard]] ChannelCounters counters(ClientId client) const;
  [[nodiscard]] DuplexCounters duplex_counters(ClientId client) const;
  [[nodiscard]] std::uint64_t refused() const;  // peers not accepted, for any reason
  [[nodiscard]] const absl::Status& last_refusal() const;
  // The error of the last operation that failed, or the reason why the last client left.
  // kWouldBlock, kTimedOut and kInterrupted do not count as failures.
  [[nodiscard]] const absl::Status& status() const;

  // For an event loop. True: there is no event, and fd() becomes readable when there may be one,
  // including at the deadline of a call. False: use try_wait() at once. The result is valid until
  // the next operation.
  [[nodiscard]] bool arm();
  [[nodiscard]] int fd() const;  // -1 in a forked child

  // Ends the wait that is under way, or else the next one. Safe from any thread and from a signal
  // handler.
  void interrupt() noexcept;

 private:
  friend class WaitSet;
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  explicit DuplexServer(StateHandle state);
  WaitSource* wait_source();  // null: moved from
  StateHandle state_;
};

}  // namespace lapwing
