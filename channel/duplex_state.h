// The state of a duplex in addition to its side: two directions of frames, its calls, and the inbox
// for the other side's messages. The operations of lapwing/duplex.h consist of these steps. A
// server with many clients (lapwing/duplex_server.h) uses them to check and arm each client.
//
// Thread safety: that of its side, which outlives every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "channel/call_table.h"
#include "channel/inbox.h"
#include "channel/side.h"
#include "lapwing/detail/frame_reader.h"
#include "lapwing/detail/frame_writer.h"
#include "lapwing/duplex.h"
#include "os/fork.h"

namespace lapwing {

struct Duplex::State {
  // A frame to send.
  struct Sending {
    CallHead head;
    std::span<const std::byte> payload;
    std::uint32_t type;
  };

  // `with_late_replies`: as in ChannelOptions.
  State(ChannelSide& opened, FrameWriter to_peer, FrameReader from_peer, bool with_late_replies);

  // Processes everything that has arrived. Returns kOk or kCorrupt.
  Errc pump();
  bool deliver(const Message& message);
  Errc try_put(const Sending& sending);
  Errc put(const Sending& sending, Deadline deadline);
  // Sends a request, or an answer to one. The caller has checked the size.
  Result<CallId> start(std::span<const std::byte> payload, std::uint32_t type, Deadline deadline,
                       bool waits);
  Errc answer(const Sending& sending, Deadline deadline);

  // The conditions that operations wait for. Each first processes what has arrived.
  Errc look_for_room(const Sending& sending);
  Errc look_for_place();
  Errc look_for_credit();
  Errc look_for_reply(CallId call);
  Errc look_for_any_reply();
  Errc look_for_incoming();
  Errc look_for_arrival();
  Errc look_for_event();

  Result<Reply> take_reply(CallId call);
  Result<Incoming> take_incoming();
  Result<Arrival> take_arrival();
  static Result<Arrival> arrival_of(const Result<Reply>& reply);

  // Ends calls without a reply.
  Result<Reply> unanswered(CallId call, Errc why);
  Result<Reply> end_call(CallId call, Errc why);
  Result<Reply> end_unanswered();
  Result<Reply> end_after_wait(Errc waited);
  Delivery delivery_of(CallId call);
  CallId expired_call() const;
  // The earliest deadline of a call that is waiting for its reply.
  std::uint64_t next_expiry_ns() const;
  Errc no_such_call(CallId call, const char* expected);

  // Like Duplex::arm(). `is_due`: whether another operation is possible that also depends on the
  // other side's wake-ups.
  bool arm(absl::FunctionRef<bool()> is_due);
  // Whether try_wait_any() would return anything but kWouldBlock. Consumes nothing.
  bool has_event();
  // Whether a message of `bytes` can be sent at once. A one-way message or a call also needs a
  // place in the window. False after the channel has ended.
  bool has_room(std::size_t bytes);
  bool has_credit();
  bool has_place();

  PaddedWord& full_waits() { return side.own_words().full_waits; }
  PaddedWord& empty_waits() { return side.own_words().empty_waits; }

  ChannelSide& side;
  FrameWriter writer;
  FrameReader reader;
  CallTable calls;
  Inbox inbox;
  bool reply_is_next = true;  // if wait_any() finds both
  std::uint64_t one_ways_sent = 0;
  std::uint64_t one_ways_taken = 0;  // by the other side, as last read
  const ForkMark made;
};

}  // namespace lapwing
