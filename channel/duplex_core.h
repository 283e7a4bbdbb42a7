// The duplex itself (lapwing/duplex.h is its public face): two directions of frames, the calls that
// this side has made, and the inbox of those that the other side has.
//
// Thread safety: as its side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "channel/call_table.h"
#include "channel/inbox.h"
#include "channel/side.h"
#include "lapwing/detail/channel_end.h"
#include "lapwing/detail/frame_reader.h"
#include "lapwing/detail/frame_writer.h"
#include "lapwing/duplex.h"
#include "os/fork.h"
#include "os/wait_source.h"

namespace lapwing {

class DuplexCore : public ChannelEnd {
 public:
  // Of a side that was opened in this role. `late_replies`: as in ChannelOptions.
  DuplexCore(ChannelHandle opened, bool late_replies);

  // Calls and waits for the reply, at most until the deadline.
  Result<Reply> call(std::span<const std::byte> payload, std::uint32_t type,
                     Deadline deadline = Deadline::never());

  // Sends a request whose reply is to come until deadline, which also limits how long this waits
  // for room. kWouldBlock (try_start): the other side has as many unanswered as it takes, or there
  // is no room. kMisuse: the payload is above the maximum, or every place holds a reply that was
  // not taken.
  Result<CallId> try_start(std::span<const std::byte> payload, std::uint32_t type,
                           Deadline deadline = Deadline::never());
  Result<CallId> start(std::span<const std::byte> payload, std::uint32_t type,
                       Deadline deadline = Deadline::never());
  // The end of that call: waits for it until the call's own deadline. kMisuse: there is no such
  // call, or it has ended already.
  Result<Reply> finish(CallId call);
  // The next call to end, whichever it is; until `deadline`, when call is 0. Where the channel has
  // ended: each call under way in turn, then call 0. kMisuse: no call is under way.
  Result<Reply> try_finish_any();
  Result<Reply> finish_any(Deadline deadline = Deadline::never());
  // Ends a call without a reply, and tells the server if there is room. kMisuse as with finish().
  Errc cancel(CallId call);

  // The next call or one-way message of the other side.
  Result<Incoming> try_next();
  Result<Incoming> next(Deadline deadline = Deadline::never());
  // Whichever comes first of what finish_any() and next() wait for; in turn where both have come.
  Result<Arrival> try_wait_any();
  Result<Arrival> wait_any(Deadline deadline = Deadline::never());
  // Answers a call that next() returned, in any order. kMisuse: it is none, or was answered.
  Errc reply(CallId call, std::span<const std::byte> payload, std::uint32_t type,
             Deadline deadline = Deadline::never());
  Errc reply_error(CallId call, std::uint32_t code, const std::string& text,
                   Deadline deadline = Deadline::never());
  // Whether the caller has given the call up: it must still be answered, however briefly. Takes in
  // what has arrived, so that a server may ask while it works on a call.
  bool is_cancelled(CallId call);

  // Sends a one-way message. It waits while the other side has as many that its application has not
  // taken as it allows.
  Errc try_send(std::span<const std::byte> payload, std::uint32_t type);
  Errc send(std::span<const std::byte> payload, std::uint32_t type,
            Deadline deadline = Deadline::never());

  // For an event loop. True: nothing has arrived, and fd() becomes readable when something may
  // have; then use try_next() and try_finish_any(). False: use them at once. It looks neither for
  // room to send nor at the calls' deadlines. `is_due`: whether something else is there to be used,
  // which the other side's wake-ups bring about as well.
  bool arm(absl::FunctionRef<bool()> is_due = [] { return false; });
  // For a wait set, which also looks at the calls' deadlines. Null: moved from.
  WaitSource* wait_source();

  // Ends both directions. Idempotent.
  void close();

  // For a server of many, which asks each in turn and sleeps for all of them.
  //
  // Whether try_wait_any() would return anything but kWouldBlock. Takes nothing.
  bool has_event();
  // The earliest deadline of a call that waits for its reply.
  std::uint64_t next_expiry_ns() const;
  // Takes the wake-ups that wait at the socket, and notices whether the other side has gone.
  void look_at_socket() { side().look_at_socket(); }
  // Whether a message of `bytes` can be sent at once; a one-way message or a call needs a place in
  // the window besides. False once the channel has ended.
  bool has_room(std::size_t bytes);
  bool has_credit();
  bool has_place();
  const std::string& peer_name() { return side().peer_name(); }

  DuplexCounters duplex_counters();
  std::uint32_t message_bytes_max() const { return writer_.message_bytes_max(); }
  const ForkMark& made() const { return made_; }

 private:
  // One frame to be sent.
  struct Sending {
    CallHead head;
    std::span<const std::byte> payload;
    std::uint32_t type;
  };
  Errc enter_to_send(std::size_t size);
  // Takes in what has arrived. kOk, or kCorrupt.
  Errc pump();
  bool deliver(const Message& message);
  Errc try_put(const Sending& sending);
  Errc put(const Sending& sending, Deadline deadline);
  Errc answer(const Sending& sending, Deadline deadline);
  // What the operations wait for. Each takes in first what has arrived.
  Errc look_for_room(const Sending& sending);
  Errc look_for_place();
  Errc look_for_credit();
  Errc look_for_reply(CallId call);
  Errc look_for_any_reply();
  Errc look_for_incoming();
  Errc look_for_arrival();
  Errc look_for_event();
  Result<CallId> send_call(std::span<const std::byte> payload, std::uint32_t type,
                           Deadline deadline, bool waits);
  Result<Reply> take_reply(CallId call);
  Result<Reply> unanswered(CallId call, Errc why);
  Result<Reply> end_call(CallId call, Errc why);
  Result<Reply> end_unanswered();
  Result<Reply> end_after_wait(Errc waited);
  Delivery delivery_of(CallId call);
  CallId expired_call() const;
  Result<Incoming> take_incoming();
  Result<Arrival> take_arrival();
  Errc no_such_call(CallId call, const char* expected);
  PaddedWord& full_waits() { return words().full_waits; }
  PaddedWord& empty_waits() { return words().empty_waits; }

  FrameWriter writer_;
  FrameReader reader_;
  CallTable calls_;
  Inbox inbox_;
  bool reply_is_next_ = true;  // where wait_any() finds both
  std::uint64_t one_ways_sent_ = 0;
  std::uint64_t one_ways_taken_ = 0;  // by the other side, as last seen
  ForkMark made_;
};

}  // namespace lapwing
