// Calls between two processes: a request and its reply, over two channels that share a socket.
//
//   enum class Kind : std::uint32_t { kAsk, kPrice };
//   const lapwing::Result<lapwing::Reply> reply =
//       duplex->call(Ask{instrument}, Kind::kAsk, std::chrono::milliseconds(1));
//   if (const auto price = reply->as<Price>()) use(*price);  // else see error() and is_error
//
//   const lapwing::Result<lapwing::Incoming> in = duplex->next();  // the other side
//   if (!in.ok()) return fail(duplex->status());
//   const auto ask = in->as<Ask>();
//   lapwing::Result<> sent;
//   if (in->is_call() && in->is(Kind::kAsk) && ask) {
//     sent = duplex->reply(in->call, price_of(*ask), Kind::kPrice);
//   } else if (in->is_call()) {
//     sent = duplex->reply_error(in->call, 1, "what is that?");
//   }
//   if (!sent.ok()) return fail(duplex->status());
//
// A payload is either bytes and a number for their type, or a plain struct and an enumeration.
//
// Both sides may call, serve, and send one-way messages. Many calls may be under way, and replies
// arrive in any order. Each side sets how many unanswered calls it accepts, and it accepts the same
// number of one-way messages (ChannelOptions::call_window). An operation that waits also receives
// arriving messages: replies go to their calls, everything else to an inbox of that size. So two
// sides that both send into full rings make room for each other. Only next() and reply() make room
// in a window. If each side waits for the other's window and calls neither, both wait until their
// deadlines.
//
// Payloads are copied on both sides. Operations return them in this process's memory.
//
// A program that calls and serves waits for both at once with wait_any(). To serve many clients,
// use a DuplexServer (lapwing/duplex_server.h).
//
// Threads, forks: one thread at a time, any thread; see lapwing/channel.h.
// Errors: see Errc. When the other side ends, each call under way ends with kPeerGone or kClosed,
// after everything that had arrived is read. Delivery then reports the progress of its request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/channel.h"
#include "lapwing/detail/channel_end.h"
#include "lapwing/result.h"
#include "lapwing/sequence.h"

namespace lapwing {

class ChannelListener;
class WaitSource;

using CallId = std::uint64_t;  // 0: no call

// The progress of a call's request when the call ended, or when a wait for it was interrupted.
//
// After kPeerGone and kClosed it is final. kSent then means that the other side's program never
// received the request, so it is safe to send it again. kTaken means that the program may have
// acted on it, or may have ended before next() returned it from the inbox.
// After kTimedOut, kInterrupted and kCorrupt, kSent is only a momentary state: the other side may
// still take the request.
enum class Delivery : std::uint32_t {
  kUnknown = 0,  // the result does not belong to a call under way
  kNotSent = 1,  // it was never visible to the other side
  kSent = 2,     // it was committed, and the other side had not taken it out of the channel
  kTaken = 3,    // the other side's process had copied it
};

// How a call ended. The Result is ok() if the server answered, with a reply or with an error of its
// own. It is kTimedOut if the call's deadline passed, even if that was Deadline::now(). With an
// error, `call` and `delivery` are still set, and everything else is empty. The payload is valid
// until the next start or call.
struct Reply {
  CallId call = 0;  // 0: no call has ended
  bool is_error = false;
  // The call had already ended, at its deadline or with cancel(), and this is its late reply
  // (ChannelOptions::late_replies).
  bool is_late = false;
  std::uint32_t code = 0;  // of an error; chosen by the server
  std::uint32_t type = 0;
  std::span<const std::byte> payload = {};  // of an error, its text
  Delivery delivery = Delivery::kUnknown;   // of the request; kTaken if it was answered

  // Check ok() first: on error, the type is 0.
  template <MessageType Type>
  [[nodiscard]] bool is(Type wanted) const {
    return !is_error && type == number_of(wanted);
  }
  // A copy of the payload; nullopt for an error, or if there is none or its size differs.
  template <PlainPayload Payload>
  [[nodiscard]] std::optional<Payload> as() const {
    return is_error ? std::nullopt : detail::copy_as<Payload>(payload);
  }
};

// A call to be answered, or a one-way message. The payload is valid until the next one is taken, by
// next() or wait_any().
struct Incoming {
  CallId call = 0;  // 0: one-way, no reply is expected
  std::uint32_t type = 0;
  std::span<const std::byte> payload = {};

  [[nodiscard]] bool is_call() const { return call != 0; }
  // Check ok() first: on error, the type is 0.
  template <MessageType Type>
  [[nodiscard]] bool is(Type wanted) const {
    return type == number_of(wanted);
  }
  // A copy of the payload; nullopt if there is none, or if its size differs.
  template <PlainPayload Payload>
  [[nodiscard]] std::optional<Payload> as() const {
    return detail::copy_as<Payload>(payload);
  }
};

// The result of wait_any(): the end of a call in `reply`, or a call or message in `incoming`.
struct Arrival {
  enum class Kind : std::uint32_t { kReply = 1, kIncoming = 2 };

  Kind kind = {};
  Result<Reply> reply = Errc::kWouldBlock;  // as finish_any() returns it
  Incoming incoming = {};
};

struct DuplexCounters {
  std::uint64_t late_replies = 0;  // arrived after their call's deadline or cancellation
  std::uint64_t one_ways_sent = 0;
  // Sent one-way messages that next() or wait_any() has returned to the other side's program, as
  // reported by that side. These are the first ones sent. Final once the other side has ended.
  std::uint64_t one_ways_taken = 0;
};

class Duplex : private ChannelEnd {
 public:
  // Errors of connect: kNoBus (nothing is at the path), kPeerGone (no process listens there, or it
  // ended), kNotPermitted (another user listens), kInvalidArgument (the options). Also kTimedOut,
  // kRefused, kAbiMismatch, kProtocol, kNoSpace, kLimit, kUnsupported, kSystem. See
  // lapwing/listener.h for the errors of accept.
  [[nodiscard]] static absl::StatusOr<Duplex> connect(const std::string& path,
                                                      const ChannelOptions& options,
                                                      Deadline deadline);
  [[nodiscard]] static absl::StatusOr<Duplex> accept(ChannelListener& listener,
                                                     const ChannelOptions& options,
                                                     Deadline deadline);
  Duplex(Duplex&&) noexcept;
  Duplex& operator=(Duplex&&) noexcept;
  ~Duplex();

  // Sends a call and waits for the reply, at most until the deadline.
  Result<Reply> call(std::span<const std::byte> payload, std::uint32_t type,
                     Deadline deadline = Deadline::never());

  template <PlainPayload Request, MessageType Type>
  Result<Reply> call(const Request& request, Type type, Deadline deadline = Deadline::never()) {
    return call(detail::bytes_of(request), number_of(type), deadline);
  }

  // Sends a request and returns its call. If it fails, nothing was sent. The reply must arrive by
  // the deadline, which also limits the wait for room. kWouldBlock (try_start): the other side has
  // as many unanswered calls as it accepts, or there is no room. kMisuse: the payload is above the
  // maximum, or every slot of the window holds a reply that was not taken.
  Result<CallId> try_start(std::span<const std::byte> payload, std::uint32_t type,
                           Deadline deadline = Deadline::never());
  Result<CallId> start(std::span<const std::byte> payload, std::uint32_t type,
                       Deadline deadline = Deadline::never());
  template <PlainPayload Request, MessageType Type>
  Result<CallId> try_start(const Request& request, Type type,
                           Deadline deadline = Deadline::never()) {
    return try_start(detail::bytes_of(request), number_of(type), deadline);
  }
  template <PlainPayload Request, MessageType Type>
  Result<CallId> start(const Request& request, Type type, Deadline deadline = Deadline::never()) {
    return start(detail::bytes_of(request), number_of(type), deadline);
  }
  // Waits until the call ends, at most until its deadline. kMisuse: there is no such call,
  // or it has already ended. After kInterrupted, the call is still under way.
  Result<Reply> finish(CallId call);
  // Returns the next call that ends, or a late reply. If there is none by `deadline`, it returns
  // kTimedOut or kWouldBlock, and call is 0. If the channel has ended, it returns kPeerGone or
  // kClosed for each call under way in turn, and then with call 0. kMisuse: no call is under way
  // and no late reply is outstanding.
  Result<Reply> try_finish_any();
  Result<Reply> finish_any(Deadline deadline = Deadline::never());
  // Ends a call without a reply, and notifies the server if there is room. kMisuse: as in finish().
  Result<> cancel(CallId call);

  // Returns the next call or one-way message from the other side.
  Result<Incoming> try_next();
  Result<Incoming> next(Deadline deadline = Deadline::never());
  // Waits for both finish_any() and next(), and returns the first result: the end of a call, a late
  // reply, or a call or one-way message from the other side. If both have a result, they take
  // turns. Unlike finish_any(), it may wait while no call is under way. If the channel has ended,
  // each call under way ends as with finish_any(), and then the error is kPeerGone or kClosed.
  Result<Arrival> try_wait_any();
  Result<Arrival> wait_any(Deadline deadline = Deadline::never());
  // Answers a call that next() returned, in any order. kMisuse: next() did not return the call, or
  // it was already answered.
  Result<> reply(CallId call, std::span<const std::byte> payload, std::uint32_t type,
                 Deadline deadline = Deadline::never());
  template <PlainPayload Answer, MessageType Type>
  Result<> reply(CallId call, const Answer& answer, Type type,
                 Deadline deadline = Deadline::never()) {
    return reply(call, detail::bytes_of(answer), number_of(type), deadline);
  }
  Result<> reply_error(CallId call, std::uint32_t code, const std::string& text,
                       Deadline deadline = Deadline::never());
  // Returns whether the caller has cancelled the call, which must still be answered. Receives
  // messages that have arrived, so a server may poll this while it works on a call.
  [[nodiscard]] bool is_cancelled(CallId call);

  // Sends a one-way message. Waits while the other side has call_window untaken ones.
  Result<> try_send(std::span<const std::byte> payload, std::uint32_t type);
  Result<> send(std::span<const std::byte> payload, std::uint32_t type,
                Deadline deadline = Deadline::never());

  template <PlainPayload Payload, MessageType Type>
  Result<> try_send(const Payload& payload, Type type) {
    return try_send(detail::bytes_of(payload), number_of(type));
  }
  template <PlainPayload Payload, MessageType Type>
  Result<> send(const Payload& payload, Type type, Deadline deadline = Deadline::never()) {
    return send(detail::bytes_of(payload), number_of(type), deadline);
  }

  // For an event loop. True: nothing has arrived, and fd() becomes readable when something may have
  // arrived; then use try_wait_any(), or try_next() and try_finish_any(). False: use them at once.
  // Room to send and the calls' deadlines are not covered. The result is valid until the next
  // operation on this end.
  [[nodiscard]] bool arm();

  // Ends both directions. Idempotent. The destructor does the same.
  void close();

  [[nodiscard]] DuplexCounters duplex_counters() const;
  [[nodiscard]] std::uint32_t message_bytes_max() const;

  // For an event loop, together with arm(); -1 once closed.
  [[nodiscard]] int fd() const { return ChannelEnd::fd(); }
  // The error of the last operation that failed. kWouldBlock, kTimedOut and kInterrupted do not
  // count as failures.
  [[nodiscard]] const absl::Status& status() const { return ChannelEnd::status(); }
  [[nodiscard]] ChannelCounters counters() const { return ChannelEnd::counters(); }
  // The same at both ends, and different for each connection.
  [[nodiscard]] Id128 connection_id() const { return ChannelEnd::connection_id(); }
  // Ends the wait that is under way, or else the next one, with kInterrupted. Safe from any thread
  // and from a signal handler.
  void interrupt() noexcept { ChannelEnd::interrupt(); }

 private:
  friend class DuplexServer;
  friend class WaitSet;
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  Duplex(ChannelHandle opened, bool late_replies);
  Errc enter_to_send(std::size_t size);
  WaitSource* wait_source();  // null: moved from

  StateHandle state_;  // null: moved from
};

}  // namespace lapwing
