// Calls between two processes: a request, and a reply to it, over two channels that share a socket.
//
//   lapwing::Reply reply = duplex->call(request, kPrice, monotonic_ns() + 1'000'000);
//   if (reply.result == lapwing::ChannelResult::kOk && !reply.is_error) use(reply.payload);
//
//   lapwing::Incoming in = duplex->next();                         // the other side
//   if (in.result == lapwing::ChannelResult::kOk) duplex->reply(in.call, answer, kPriced);
//
// Both sides may call and serve, and send one-way messages besides. Many calls may be under way,
// and replies come in any order. Each side says how many calls it takes unanswered, and as many
// one-way messages (ChannelOptions::call_window); whoever waits in an operation of a duplex takes
// in what arrives meanwhile (replies to their calls, all else to an inbox of that size), so two
// sides that both send into full rings make room for each other. Only next() and reply() make room
// in a window: two sides that each wait for the other's, and do neither, wait to their deadlines.
//
// Payloads are copied on both sides: what operations return lies in this process's memory.
//
// Thread safety: one thread, the first that uses it; debug builds answer kMisuse to any other.
// Errors: see ChannelResult. When the other side ends, each call under way ends with kPeerGone or
// kClosed, once what had arrived is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "channel/call_table.h"
#include "channel/end.h"
#include "channel/inbox.h"
#include "lapwing/channel.h"
#include "lapwing/detail/frame_reader.h"
#include "lapwing/detail/frame_writer.h"
#include "lapwing/listener.h"

namespace lapwing {

struct StartedCall {
  ChannelResult result = ChannelResult::kOk;
  CallId call = 0;
};

// How a call ended. kOk: the server answered, with a reply or with an error of its own. kTimedOut:
// the call's deadline passed. The payload is valid until the next start or call.
struct Reply {
  ChannelResult result = ChannelResult::kOk;
  CallId call = 0;
  bool is_error = false;
  std::uint32_t code = 0;  // of an error, the server's to choose
  std::uint32_t type = 0;
  std::span<const std::byte> payload;  // of an error, its text
};

// A call to be answered, or a one-way message. The payload is valid until the next next().
struct Incoming {
  ChannelResult result = ChannelResult::kOk;
  CallId call = 0;  // 0: one-way, nobody waits for an answer
  std::uint32_t type = 0;
  std::span<const std::byte> payload;

  bool is_call() const { return call != 0; }
};

struct DuplexCounters {
  std::uint64_t late_replies = 0;  // came after their call's deadline or cancellation, and dropped
};

class Duplex : public ChannelEnd {
 public:
  // Errors: see connect_channel and ChannelListener::accept.
  static absl::StatusOr<Duplex> connect(const std::string& path, const ChannelOptions& options,
                                        std::uint64_t deadline_ns);
  static absl::StatusOr<Duplex> accept(ChannelListener& listener, const ChannelOptions& options,
                                       std::uint64_t deadline_ns);
  // Of a session that was opened in this role.
  explicit Duplex(std::unique_ptr<ChannelSession> opened);

  // Calls and waits for the reply, at most until the deadline.
  Reply call(std::span<const std::byte> payload, std::uint32_t type,
             std::uint64_t deadline_ns = kNoDeadline);

  // Sends a request whose reply is to come until deadline_ns, which also limits how long this waits
  // for room. kWouldBlock (try_start): the other side has as many unanswered as it takes, or there
  // is no room. kMisuse: the payload is above the maximum, or every place holds a reply that was
  // not taken.
  StartedCall try_start(std::span<const std::byte> payload, std::uint32_t type,
                        std::uint64_t deadline_ns = kNoDeadline);
  StartedCall start(std::span<const std::byte> payload, std::uint32_t type,
                    std::uint64_t deadline_ns = kNoDeadline);
  // The end of that call: waits for it until the call's own deadline. kMisuse: there is no such
  // call, or it has ended already.
  Reply finish(CallId call);
  // The next call to end, whichever it is; until `deadline_ns`, when call is 0. kMisuse: no call is
  // under way.
  Reply try_finish_any();
  Reply finish_any(std::uint64_t deadline_ns = kNoDeadline);
  // Ends a call without a reply, and tells the server if there is room. kMisuse as with finish().
  ChannelResult cancel(CallId call);

  // The next call or one-way message of the other side.
  Incoming try_next();
  Incoming next(std::uint64_t deadline_ns = kNoDeadline);
  // Answers a call that next() returned, in any order. kMisuse: it is none, or was answered.
  ChannelResult reply(CallId call, std::span<const std::byte> payload, std::uint32_t type,
                      std::uint64_t deadline_ns = kNoDeadline);
  ChannelResult reply_error(CallId call, std::uint32_t code, const std::string& text,
                            std::uint64_t deadline_ns = kNoDeadline);
  // Whether the caller has given the call up: it must still be answered, however briefly. Takes in
  // what has arrived, so that a server may ask while it works on a call.
  bool is_cancelled(CallId call);

  // Sends a one-way message. It waits while the other side has as many that its application has not
  // taken as it allows.
  ChannelResult try_send(std::span<const std::byte> payload, std::uint32_t type);
  ChannelResult send(std::span<const std::byte> payload, std::uint32_t type,
                     std::uint64_t deadline_ns = kNoDeadline);

  // For an event loop. True: nothing has arrived, and fd() becomes readable when something may
  // have; then use try_next() and try_finish_any(). False: use them at once. It looks neither for
  // room to send nor at the calls' deadlines.
  // To be called right before every poll, with no other operation of this end in between: one
  // might take the packet that the poll is to wait for.
  bool prepare_to_poll();

  // Ends both directions. Idempotent.
  void close();

  DuplexCounters duplex_counters() const { return {calls_.late_replies()}; }
  std::uint32_t message_bytes_max() const { return writer_.message_bytes_max(); }

 private:
  // One frame to be sent.
  struct Sending {
    CallHead head;
    std::span<const std::byte> payload;
    std::uint32_t type;
  };
  ChannelResult enter_to_send(std::size_t size);
  // Takes in what has arrived. kOk, or kCorrupt.
  ChannelResult pump();
  bool deliver(const Message& message);
  ChannelResult try_put(const Sending& sending);
  ChannelResult put(const Sending& sending, std::uint64_t deadline_ns);
  ChannelResult answer(const Sending& sending, std::uint64_t deadline_ns);
  // What the operations wait for. Each takes in first what has arrived.
  ChannelResult look_for_room(const Sending& sending);
  ChannelResult look_for_place();
  ChannelResult look_for_credit();
  ChannelResult look_for_reply(CallId call);
  ChannelResult look_for_any_reply();
  ChannelResult look_for_incoming();
  StartedCall send_call(std::span<const std::byte> payload, std::uint32_t type,
                        std::uint64_t deadline_ns, bool waits);
  Reply take_reply(CallId call);
  Reply expire(CallId call);
  Incoming take_incoming();
  ChannelResult no_such_call(CallId call, const char* expected);
  PaddedWord& full_waits() { return words().full_waits; }
  PaddedWord& empty_waits() { return words().empty_waits; }

  FrameWriter writer_;
  FrameReader reader_;
  CallTable calls_;
  Inbox inbox_;
  std::uint64_t one_ways_sent_ = 0;
  std::uint64_t one_ways_taken_ = 0;  // by the other side, as last seen
};

}  // namespace lapwing
