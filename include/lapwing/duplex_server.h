// Serves many clients of duplexes on one path, in one thread: an order gateway, say.
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
// A client connects with Duplex::connect (ChannelOptions::retry, to come back after a restart of
// the server), and leaves when it closes its end, dies, or is dropped.
//
// No client delays another. wait() takes the clients in turn, at most turn_events_max events of one
// before the next; connections are accepted in between. No operation but wait() ever waits: one for
// which a client has no room returns kWouldBlock, and kRoom says when to try again. A client that
// takes nothing can be dropped. What a client costs the others is the making of this side's memory
// when it connects (ChannelOptions::capacity), so a server of many has small channels.
//
// A sleeping server wakes once a second. Clients that have nothing to say cost no more than that
// once the server has slept, however busy the others keep it.
//
// A server can stand in a WaitSet beside buses, timers and other sources, or in an event loop, by
// arm() and fd().
//
// A new process takes the path over from a server that runs, and the clients that are there stay
// with the old one until they leave:
//
//   auto listener = lapwing::ChannelListener::take_over(path, std::chrono::seconds(10));
//   auto server = lapwing::DuplexServer::open(*std::move(listener));
//
// Threads: one thread at a time, any thread; a call that overlaps a wait is answered with kMisuse.
// interrupt() at any time. Forks: as of every end of a channel (lapwing/channel.h).
// Errors: see Errc.
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

// Names a client of a server; never used again there. 0 is none.
using ClientId = std::uint64_t;

struct DuplexServerOptions {
  // Of this side of each client's channel. `wait` is how wait() waits, and expected_peer_uid the
  // user that may connect.
  ChannelOptions channel = {};
  // One that comes when there are so many waits in its connect until another has gone.
  std::uint32_t clients_max = 64;  // at most kServerClientsMax
  // Of one client, before the next has its turn.
  std::uint32_t turn_events_max = 16;
};

// What has come of a client.
struct ServerEvent {
  enum class Kind : std::uint32_t {
    kConnected = 1,   // a new client
    kMessage = 2,     // `message` is a call of it to be answered, or a one-way message
    kReply = 3,       // `reply` is the end of a call that this server made of it, or a late reply
    kRoom = 4,        // what returned kWouldBlock can be tried again
    kGone = 5,        // it has gone, and all that it had sent was delivered; `why`
    kHandedOver = 6,  // a successor accepts from now on; `client` is 0
  };

  Kind kind = {};
  ClientId client = 0;
  // The payloads are valid until the next wait, and while the client is not dropped; that of a reply
  // until the next call of the client is started.
  Incoming message = {};
  Result<Reply> reply = Errc::kWouldBlock;
  Errc why = Errc::kOk;  // kClosed, kPeerGone, kCorrupt; status() has the text
};

class DuplexServer {
 public:
  // Listens at `path`: errors as of ChannelListener::listen, and kInvalidArgument (the options).
  [[nodiscard]] static absl::StatusOr<DuplexServer> open(const std::string& path,
                                                         const DuplexServerOptions& options = {});
  // With a listener of the program's own, as of ChannelListener::take_over.
  [[nodiscard]] static absl::StatusOr<DuplexServer> open(ChannelListener listener,
                                                         const DuplexServerOptions& options = {});
  DuplexServer(DuplexServer&&) noexcept;
  DuplexServer& operator=(DuplexServer&&) noexcept;
  // Closes the channel of each client, and removes the name unless it was handed over.
  ~DuplexServer();

  // The next event of any client. A client of which kGone was returned can still be asked for its
  // counters until the next wait. Errors: kTimedOut, kWouldBlock, kInterrupted; kClosed, once the
  // path was handed over and the last client has gone; kMisuse, kForked. Any other error is the
  // reason why a client could not be accepted, as of lapwing/listener.h; the others are served by
  // the next wait.
  Result<ServerEvent> try_wait();
  Result<ServerEvent> wait(Deadline deadline = Deadline::never());

  // All of these are as their siblings of Duplex, for one client, and never wait. kWouldBlock: the
  // client has no room, or no place in its window; an event kRoom comes when there may be.
  // kNotFound: it has gone, or there never was one.
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
  // A call of the client, which ends with an event kReply by `deadline`.
  Result<CallId> try_start(ClientId client, std::span<const std::byte> payload, std::uint32_t type,
                           Deadline deadline = Deadline::never());
  template <PlainPayload Request, MessageType Type>
  Result<CallId> try_start(ClientId client, const Request& request, Type type,
                           Deadline deadline = Deadline::never()) {
    return try_start(client, detail::bytes_of(request), number_of(type), deadline);
  }
  Result<> cancel(ClientId client, CallId call);
  [[nodiscard]] bool is_cancelled(ClientId client, CallId call);

  // Closes its channel, and forgets it: no event of it comes any more.
  Result<> drop(ClientId client);

  // Clients whose channel is open.
  [[nodiscard]] std::size_t clients() const;
  // "pid 12 of user 1000"; empty where there is no such client.
  [[nodiscard]] std::string peer(ClientId client) const;
  [[nodiscard]] ChannelCounters counters(ClientId client) const;
  [[nodiscard]] DuplexCounters duplex_counters(ClientId client) const;
  [[nodiscard]] std::uint64_t refused() const;  // peers that were not accepted, whatever the reason
  [[nodiscard]] const absl::Status& last_refusal() const;
  // Why the last operation that was not kOk, kWouldBlock, kTimedOut or kInterrupted did not
  // succeed, or the last client has gone.
  [[nodiscard]] const absl::Status& status() const;

  // For an event loop. True: there is no event, and fd() becomes readable when there may be one,
  // also by the deadline of a call. False: use try_wait() at once. The answer stands until the next
  // operation.
  [[nodiscard]] bool arm();
  [[nodiscard]] int fd() const;  // -1 in a forked child

  // Ends the wait that is under way, or else the next one. From any thread, also from a signal
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
