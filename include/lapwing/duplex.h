// Calls between two processes: a request, and a reply to it, over two channels that share a socket.
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
// A payload is bytes and a number that says what they are, or a plain struct and an enumeration.
//
// Both sides may call and serve, and send one-way messages besides. Many calls may be under way,
// and replies come in any order. Each side says how many calls it takes unanswered, and as many
// one-way messages (ChannelOptions::call_window). An operation that waits takes in what arrives
// meanwhile (replies to their calls, all else to an inbox of that size), so two sides that both
// send into full rings make room for each other. Only next() and reply() make room in a window: two
// sides that each wait for the other's, and do neither, wait to their deadlines.
//
// Payloads are copied on both sides: what operations return lies in this process's memory.
//
// A program that calls and serves waits for both at once with wait_any(). One that serves many
// clients has a DuplexServer (lapwing/duplex_server.h).
//
// Threads, forks: one thread at a time, any thread; see lapwing/channel.h.
// Errors: see Errc. When the other side ends, each call under way ends with kPeerGone or
// kClosed, once what had arrived is read, and says how far its request had come (Delivery).
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

using CallId = std::uint64_t;  // 0 is none

// How far the request of a call had come when the call ended, or when a wait for it was
// interrupted.
//
// After kPeerGone and kClosed it is final. kSent then means that the other side's program never got
// the request: to send it again does nothing twice. kTaken means that it may have acted on it, and
// may not: it may have ended with the request in its inbox, where next() had not reached it. After
// kTimedOut, kInterrupted and kCorrupt, kSent is only how it was at that moment: the other side may
// still take it.
enum class Delivery : std::uint32_t {
  kUnknown = 0,  // the answer names no call under way
  kNotSent = 1,  // it never was where the other side could see it
  kSent = 2,     // it was committed, and the other side had not taken it out of the channel
  kTaken = 3,    // the other side's process had copied it
};

// How a call ended. The Result is ok() if the server answered, with a reply or with an error of its
// own; kTimedOut if the call's deadline passed, be it Deadline::now(). With an error `call` and
// `delivery` are still set, and everything else is empty. The payload is valid until the next start
// or call.
struct Reply {
  CallId call = 0;  // 0: no call has ended
  bool is_error = false;
  // The call had ended already, at its deadline or with cancel(), and this is its reply after all
  // (ChannelOptions::late_replies).
  bool is_late = false;
  std::uint32_t code = 0;  // of an error, the server's to choose
  std::uint32_t type = 0;
  std::span<const std::byte> payload = {};  // of an error, its text
  Delivery delivery = Delivery::kUnknown;   // of the request; kTaken where it was answered

  // Check ok() first: with an error the type is 0.
  template <MessageType Type>
  [[nodiscard]] bool is(Type wanted) const {
    return !is_error && type == number_of(wanted);
  }
  // A copy of the payload; nullopt if there is none, if it is an error's, or of another size.
  template <PlainPayload Payload>
  [[nodiscard]] std::optional<Payload> as() const {
    return is_error ? std::nullopt : detail::copy_as<Payload>(payload);
  }
};

// A call to be answered, or a one-way message. The payload is valid until the next one is taken, by
// next() or wait_any().
struct Incoming {
  CallId call = 0;  // 0: one-way, nobody waits for an answer
  std::uint32_t type = 0;
  std::span<const std::byte> payload = {};

  [[nodiscard]] bool is_call() const { return call != 0; }
  // Check ok() first: with an error the type is 0.
  template <MessageType Type>
  [[nodiscard]] bool is(Type wanted) const {
    return type == number_of(wanted);
  }
  // A copy of the payload; nullopt if there is none, or if it has another size.
  template <PlainPayload Payload>
  [[nodiscard]] std::optional<Payload> as() const {
    return detail::copy_as<Payload>(payload);
  }
};

// What wait_any() found: the end of a call in `reply`, or a call or message in `incoming`.
struct Arrival {
  enum class Kind : std::uint32_t { kReply = 1, kIncoming = 2 };

  Kind kind = {};
  Result<Reply> reply = Errc::kWouldBlock;  // as finish_any() returns it
  Incoming incoming = {};
};

struct DuplexCounters {
  std::uint64_t late_replies = 0;  // that came after their call's deadline or cancellation
  std::uint64_t one_ways_sent = 0;
  // Of those sent, how many the other side's program has got from next() or wait_any(), as that side
  // says: the first so many. Final once the other side has ended.
  std::uint64_t one_ways_taken = 0;
};

class Duplex : private ChannelEnd {
 public:
  // Errors of connect: kNoBus (nothing is at the path), kPeerGone (nobody listens there, or it
  // ended), kTimedOut, kRefused, kNotPermitted (another user listens), kInvalidArgument (the
  // options), kAbiMismatch, kProtocol, kNoSpace, kLimit, kUnsupported, kSystem. Of accept:
  // lapwing/listener.h.
  [[nodiscard]] static absl::StatusOr<Duplex> connect(const std::string& path,
                                                      const ChannelOptions& options,
                                                      Deadline deadline);
  [[nodiscard]] static absl::StatusOr<Duplex> accept(ChannelListener& listener,
                                                     const ChannelOptions& options,
                                                     Deadline deadline);
  Duplex(Duplex&&) noexcept;
  Duplex& operator=(Duplex&&) noexcept;
  ~Duplex();

  // Calls and waits for the reply, at most until the deadline.
  Result<Reply> call(std::span<const std::byte> payload, std::uint32_t type,
                     Deadline deadline = Deadline::never());

  template <PlainPayload Request, MessageType Type>
  Result<Reply> call(const Request& request, Type type, Deadline deadline = Deadline::never()) {
    return call(detail::bytes_of(request), number_of(type), deadline);
  }

  // Sends a request and returns its call; with an error nothing was sent. The reply must arrive by
  // the deadline, which also limits the wait for room. kWouldBlock (try_start): the other side has
  // as many unanswered as it takes, or there is no room. kMisuse: the payload is above the maximum,
  // or every place holds a reply that was not taken.
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
  // The end of that call: waits for it until the call's own deadline. kMisuse: there is no such
  // call, or it has ended already. After kInterrupted it is still under way.
  Result<Reply> finish(CallId call);
  // The next call to end, whichever it is, or a late reply. If none comes by `deadline`: kTimedOut
  // or kWouldBlock, and call is 0. Where the channel has ended: kPeerGone or kClosed for each call
  // under way in turn, and then with call 0. kMisuse: nothing can come, since no call is under way
  // and no late reply is outstanding.
  Result<Reply> try_finish_any();
  Result<Reply> finish_any(Deadline deadline = Deadline::never());
  // Ends a call without a reply, and notifies the server if there is room. kMisuse as with
  // finish().
  Result<> cancel(CallId call);

  // The next call or one-way message of the other side.
  Result<Incoming> try_next();
  Result<Incoming> next(Deadline deadline = Deadline::never());
  // Whichever comes first of what finish_any() and next() wait for: the end of a call, a late
  // reply, a call or a one-way message of the other side. If both have come it takes them in turn.
  // Unlike finish_any() it may wait with no call under way. Where the channel has ended: each call
  // under way ends as with finish_any(), and then the error is kPeerGone or kClosed.
  Result<Arrival> try_wait_any();
  Result<Arrival> wait_any(Deadline deadline = Deadline::never());
  // Answers a call that next() returned, in any order. kMisuse: it is none, or was answered.
  Result<> reply(CallId call, std::span<const std::byte> payload, std::uint32_t type,
                 Deadline deadline = Deadline::never());
  template <PlainPayload Answer, MessageType Type>
  Result<> reply(CallId call, const Answer& answer, Type type,
                 Deadline deadline = Deadline::never()) {
    return reply(call, detail::bytes_of(answer), number_of(type), deadline);
  }
  Result<> reply_error(CallId call, std::uint32_t code, const std::string& text,
                       Deadline deadline = Deadline::never());
  // Whether the caller has given the call up: it must still be answered, however briefly. Takes in
  // what has arrived, so that a server may ask while it works on a call.
  [[nodiscard]] bool is_cancelled(CallId call);

  // Sends a one-way message. Waits while the other side holds as many untaken ones as its
  // call_window.
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

  // For an event loop. True: nothing has arrived, and fd() becomes readable when something may
  // have; then use try_wait_any(), or try_next() and try_finish_any(). False: use them at once. Room
  // to send and the calls' deadlines do not count. The answer stands until the next operation of
  // this end.
  [[nodiscard]] bool arm();

  // Ends both directions. Idempotent. The destructor does the same.
  void close();

  [[nodiscard]] DuplexCounters duplex_counters() const;
  [[nodiscard]] std::uint32_t message_bytes_max() const;

  // For an event loop, together with arm(); -1 once closed.
  [[nodiscard]] int fd() const { return ChannelEnd::fd(); }
  // Why the last operation that was not kOk, kWouldBlock, kTimedOut or kInterrupted did not
  // succeed.
  [[nodiscard]] const absl::Status& status() const { return ChannelEnd::status(); }
  [[nodiscard]] ChannelCounters counters() const { return ChannelEnd::counters(); }
  // Both ends have the same one, and each connection another one.
  [[nodiscard]] Id128 connection_id() const { return ChannelEnd::connection_id(); }
  // Ends the wait that is under way, or else the next one, with kInterrupted. From any thread, also
  // from a signal handler.
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
