// Calls between two processes: a request, and a reply to it, over two channels that share a socket.
//
//   enum class Kind : std::uint32_t { kAsk, kPrice };
//   const lapwing::Reply reply =
//       duplex->call(Ask{instrument}, Kind::kAsk, std::chrono::milliseconds(1));
//   if (const auto price = reply.as<Price>()) use(*price);  // else result or is_error says why not
//
//   const lapwing::Incoming in = duplex->next();            // the other side
//   const auto ask = in.as<Ask>();
//   lapwing::Errc sent = lapwing::Errc::kOk;
//   if (in.is_call() && in.is(Kind::kAsk) && ask) {
//     sent = duplex->reply(in.call, price_of(*ask), Kind::kPrice);
//   } else if (in.is_call()) {
//     sent = duplex->reply_error(in.call, 1, "what is that?");
//   }
//   if (sent != lapwing::Errc::kOk) return fail(duplex->status());
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
// Threads, forks: one thread at a time, any thread; see lapwing/channel.h.
// Errors: see Errc. When the other side ends, each call under way ends with kPeerGone or
// kClosed, once what had arrived is read.
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
#include "lapwing/sequence.h"

namespace lapwing {

class ChannelListener;
class DuplexCore;

using CallId = std::uint64_t;  // 0 is none

struct StartedCall {
  Errc result = Errc::kOk;
  CallId call = 0;
};

// How a call ended. kOk: the server answered, with a reply or with an error of its own. kTimedOut:
// the call's deadline passed, be it Deadline::now(). is_late: the call had ended already, with that
// or with cancel(), and this is its reply after all (ChannelOptions::late_replies). The payload is
// valid until the next start or call.
struct Reply {
  Errc result = Errc::kOk;
  CallId call = 0;
  bool is_error = false;
  bool is_late = false;
  std::uint32_t code = 0;  // of an error, the server's to choose
  std::uint32_t type = 0;
  std::span<const std::byte> payload = {};  // of an error, its text

  template <MessageType Type>
  [[nodiscard]] bool is(Type wanted) const {
    return result == Errc::kOk && !is_error && type == number_of(wanted);
  }
  // A copy of the payload; nothing where there is none, where it is an error, or of another size.
  template <PlainPayload Payload>
  [[nodiscard]] std::optional<Payload> as() const {
    return result == Errc::kOk && !is_error ? detail::copy_as<Payload>(payload) : std::nullopt;
  }
};

// A call to be answered, or a one-way message. The payload is valid until the next next().
struct Incoming {
  Errc result = Errc::kOk;
  CallId call = 0;  // 0: one-way, nobody waits for an answer
  std::uint32_t type = 0;
  std::span<const std::byte> payload = {};

  [[nodiscard]] bool is_call() const { return call != 0; }
  template <MessageType Type>
  [[nodiscard]] bool is(Type wanted) const {
    return result == Errc::kOk && type == number_of(wanted);
  }
  // A copy of the payload; nothing where there is none, or where it has another size.
  template <PlainPayload Payload>
  [[nodiscard]] std::optional<Payload> as() const {
    return result == Errc::kOk ? detail::copy_as<Payload>(payload) : std::nullopt;
  }
};

struct DuplexCounters {
  std::uint64_t late_replies = 0;  // that came after their call's deadline or cancellation
};

class Duplex {
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
  [[nodiscard]] Reply call(std::span<const std::byte> payload, std::uint32_t type,
                           Deadline deadline = Deadline::never());

  template <PlainPayload Request, MessageType Type>
  [[nodiscard]] Reply call(const Request& request, Type type,
                           Deadline deadline = Deadline::never()) {
    return call(detail::bytes_of(request), number_of(type), deadline);
  }

  // Sends a request. Its reply must arrive by the deadline, which also limits the wait for room.
  // kWouldBlock (try_start): the other side has as many unanswered as it takes, or there is no
  // room. kMisuse: the payload is above the maximum, or every place holds a reply that was not
  // taken.
  [[nodiscard]] StartedCall try_start(std::span<const std::byte> payload, std::uint32_t type,
                                      Deadline deadline = Deadline::never());
  [[nodiscard]] StartedCall start(std::span<const std::byte> payload, std::uint32_t type,
                                  Deadline deadline = Deadline::never());
  template <PlainPayload Request, MessageType Type>
  [[nodiscard]] StartedCall try_start(const Request& request, Type type,
                                      Deadline deadline = Deadline::never()) {
    return try_start(detail::bytes_of(request), number_of(type), deadline);
  }
  template <PlainPayload Request, MessageType Type>
  [[nodiscard]] StartedCall start(const Request& request, Type type,
                                  Deadline deadline = Deadline::never()) {
    return start(detail::bytes_of(request), number_of(type), deadline);
  }
  // The end of that call: waits for it until the call's own deadline. kMisuse: there is no such
  // call, or it has ended already.
  [[nodiscard]] Reply finish(CallId call);
  // The next call to end, whichever it is, or a late reply. If none comes by `deadline`: kTimedOut
  // or kWouldBlock, and call is 0. kMisuse: nothing can come, since no call is under way and no
  // late reply is outstanding.
  [[nodiscard]] Reply try_finish_any();
  [[nodiscard]] Reply finish_any(Deadline deadline = Deadline::never());
  // Ends a call without a reply, and notifies the server if there is room. kMisuse as with
  // finish().
  [[nodiscard]] Errc cancel(CallId call);

  // The next call or one-way message of the other side.
  [[nodiscard]] Incoming try_next();
  [[nodiscard]] Incoming next(Deadline deadline = Deadline::never());
  // Answers a call that next() returned, in any order. kMisuse: it is none, or was answered.
  [[nodiscard]] Errc reply(CallId call, std::span<const std::byte> payload, std::uint32_t type,
                           Deadline deadline = Deadline::never());
  template <PlainPayload Answer, MessageType Type>
  [[nodiscard]] Errc reply(CallId call, const Answer& answer, Type type,
                           Deadline deadline = Deadline::never()) {
    return reply(call, detail::bytes_of(answer), number_of(type), deadline);
  }
  [[nodiscard]] Errc reply_error(CallId call, std::uint32_t code, const std::string& text,
                                 Deadline deadline = Deadline::never());
  // Whether the caller has given the call up: it must still be answered, however briefly. Takes in
  // what has arrived, so that a server may ask while it works on a call.
  [[nodiscard]] bool is_cancelled(CallId call);

  // Sends a one-way message. Waits while the other side holds as many untaken ones as its
  // call_window.
  [[nodiscard]] Errc try_send(std::span<const std::byte> payload, std::uint32_t type);
  [[nodiscard]] Errc send(std::span<const std::byte> payload, std::uint32_t type,
                          Deadline deadline = Deadline::never());

  template <PlainPayload Payload, MessageType Type>
  [[nodiscard]] Errc try_send(const Payload& payload, Type type) {
    return try_send(detail::bytes_of(payload), number_of(type));
  }
  template <PlainPayload Payload, MessageType Type>
  [[nodiscard]] Errc send(const Payload& payload, Type type,
                          Deadline deadline = Deadline::never()) {
    return send(detail::bytes_of(payload), number_of(type), deadline);
  }

  // For an event loop. True: nothing has arrived, and fd() becomes readable when something may
  // have; then use try_next() and try_finish_any(). False: use them at once. Room to send and the
  // calls' deadlines do not count. The answer stands until the next operation of this end.
  [[nodiscard]] bool arm();

  // Ends both directions. Idempotent. The destructor does the same.
  void close();

  [[nodiscard]] DuplexCounters duplex_counters() const;
  [[nodiscard]] std::uint32_t message_bytes_max() const;

  // For an event loop, together with arm(); -1 once closed.
  [[nodiscard]] int fd() const;
  // Why the last operation that was not kOk, kWouldBlock, kTimedOut or kInterrupted did not
  // succeed.
  [[nodiscard]] const absl::Status& status() const;
  [[nodiscard]] ChannelCounters counters() const;
  // Both ends have the same one, and each connection another one.
  [[nodiscard]] Id128 connection_id() const;
  // Ends the wait that is under way, or else the next one, with kInterrupted. From any thread, also
  // from a signal handler.
  void interrupt() noexcept;

 private:
  friend struct ChannelAccess;
  struct DeleteCore {
    void operator()(DuplexCore* core) const;  // not in a forked child
  };
  using CoreHandle = std::unique_ptr<DuplexCore, DeleteCore>;
  explicit Duplex(CoreHandle core);
  CoreHandle core_;
};

}  // namespace lapwing
