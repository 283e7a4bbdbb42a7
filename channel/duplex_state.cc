#include "channel/duplex_state.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

// Limits a pump, so that a peer that sends without end cannot extend a wait beyond its deadline.
constexpr int kMessagesPerPump = 1024;

}  // namespace

Duplex::State::State(ChannelSide& opened, FrameWriter to_peer, FrameReader from_peer,
                     bool with_late_replies)
    : side(opened),
      writer(std::move(to_peer)),
      reader(from_peer),
      calls(side.peer().header().call_window, with_late_replies),
      inbox(side.own().header().call_window) {}

// Frames.

Errc Duplex::State::pump() {
  for (int i = 0; i < kMessagesPerPump; ++i) {
    Message message;
    const FrameReader::Look seen = reader.look(reader.position(), message);
    if (seen == FrameReader::Look::kEmpty) {
      side.look_left_more(false);
      return Errc::kOk;
    }
    if (seen == FrameReader::Look::kCorrupt || !deliver(message)) {
      return side.corrupt(absl::StrCat("the frame at position ", reader.position(),
                                       " is not one that a duplex can have sent there"));
    }
    reader.release(message.end, 1);
    side.wake_peer();
  }
  side.look_left_more(true);
  return Errc::kOk;
}

bool Duplex::State::deliver(const Message& message) {
  CallHead head;
  std::memcpy(&head, reader.call_head(message), sizeof head);
  switch (head.kind) {
    case CallKind::kOneWay:
      return inbox.add_one_way(message.type, message.payload);
    case CallKind::kCall:
      return inbox.add_call(head.call, message.type, message.payload);
    case CallKind::kReply:
      return calls.complete(head.call, message.type, 0, false, message.payload);
    case CallKind::kErrorReply:
      return calls.complete(head.call, message.type, head.code, true, message.payload);
    case CallKind::kCancel:
      inbox.cancel(head.call);
      return true;
  }
  return false;
}

Errc Duplex::State::try_put(const Sending& sending) {
  switch (writer.claim(static_cast<std::uint32_t>(sending.payload.size()))) {
    case FrameWriter::Room::kYes:
      break;
    case FrameWriter::Room::kFull:
      return Errc::kWouldBlock;
    case FrameWriter::Room::kCorrupt:
      return side.released_too_much(writer);
  }
  std::memcpy(writer.call_head(), &sending.head, sizeof sending.head);
  if (!sending.payload.empty()) {
    std::memcpy(writer.payload().data(), sending.payload.data(), sending.payload.size());
  }
  writer.commit(static_cast<std::uint32_t>(sending.payload.size()), sending.type);
  side.wake_peer();
  return Errc::kOk;
}

Errc Duplex::State::look_for_room(const Sending& sending) {
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  return side.end() == Errc::kOk ? try_put(sending) : Errc::kWouldBlock;
}

Errc Duplex::State::put(const Sending& sending, Deadline deadline) {
  const Errc now = try_put(sending);
  if (now != Errc::kWouldBlock) return now;
  return side.wait([&] { return look_for_room(sending); }, deadline.monotonic_ns(), full_waits());
}

// Calling.

Errc Duplex::State::look_for_place() {
  if (calls.has_free_place()) return Errc::kOk;
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  if (calls.has_free_place()) return Errc::kOk;
  if (!calls.only_untaken()) return Errc::kWouldBlock;
  return side.misuse(
      make_error(Errc::kLimit,
                 "the call window is full: every call in it has a reply that was not taken. Take "
                 "replies with finish() or finish_any() before starting more"));
}

Result<CallId> Duplex::State::start(std::span<const std::byte> payload, std::uint32_t type,
                                    Deadline deadline, bool waits) {
  Errc result = look_for_place();
  if (result == Errc::kWouldBlock && waits) {
    result = side.wait([&] { return look_for_place(); }, deadline.monotonic_ns(), empty_waits());
  }
  if (result != Errc::kOk) return result;
  const CallId call = calls.reserve();
  const Sending sending{{call, CallKind::kCall, 0}, payload, type};
  result = waits ? put(sending, deadline) : look_for_room(sending);
  if (result != Errc::kOk) {
    calls.forget(call);
    return result;
  }
  calls.start(call, deadline.monotonic_ns(), writer.position());
  return call;
}

Errc Duplex::State::look_for_reply(CallId call) {
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  return calls.fate(call) == CallTable::Fate::kDone ? Errc::kOk : Errc::kWouldBlock;
}

Errc Duplex::State::look_for_any_reply() {
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  return calls.first_done() != 0 ? Errc::kOk : Errc::kWouldBlock;
}

Result<Reply> Duplex::State::take_reply(CallId call) {
  const StoredReply& stored = calls.take(call);
  return Reply{call,        stored.is_error, stored.is_late,  stored.code,
               stored.type, stored.payload,  Delivery::kTaken};
}

Result<Reply> Duplex::State::unanswered(CallId call, Errc why) {
  return {why, {.call = call, .delivery = delivery_of(call)}};
}

// Notifies the server, if there is room for that. The reply still arrives, and is then dropped or
// kept.
Result<Reply> Duplex::State::end_call(CallId call, Errc why) {
  const Result<Reply> reply = unanswered(call, why);
  calls.abandon(call);
  if (side.end() == Errc::kOk) try_put({{call, CallKind::kCancel, 0}, {}, 0});
  return reply;
}

// The other side's words stay mapped after it ends, and show what it had released. If it was killed
// before it released a frame, its next() had not returned either.
Delivery Duplex::State::delivery_of(CallId call) {
  if (side.in_child()) return Delivery::kUnknown;
  switch (calls.fate(call)) {
    case CallTable::Fate::kWaiting:
      return writer.has_released(calls.request_end(call)) ? Delivery::kTaken : Delivery::kSent;
    case CallTable::Fate::kDone:
      return Delivery::kTaken;
    case CallTable::Fate::kUnknown:
      break;
  }
  return Delivery::kUnknown;
}

// Reads the clock only if a call in progress has a deadline.
CallId Duplex::State::expired_call() const {
  const CallId next = calls.first_to_expire();
  const bool has_expired =
      next != 0 && Deadline::at_monotonic_ns(calls.deadline_ns(next)).has_passed();
  return has_expired ? next : 0;
}

std::uint64_t Duplex::State::next_expiry_ns() const {
  const CallId next = calls.first_to_expire();
  return next == 0 ? Deadline::never().monotonic_ns() : calls.deadline_ns(next);
}

// Called when no reply has arrived. Ends the next call that must end without one. Returns call 0 if
// there is none.
Result<Reply> Duplex::State::end_unanswered() {
  const Errc nothing = side.nothing_there();
  const bool has_ended = nothing != Errc::kWouldBlock;
  const CallId next = has_ended ? calls.first_to_expire() : expired_call();
  if (next == 0) return nothing;
  return end_call(next, has_ended ? nothing : Errc::kTimedOut);
}

// Like end_unanswered(), after a wait without a reply until its deadline or that of a call.
Result<Reply> Duplex::State::end_after_wait(Errc waited) {
  if (waited != Errc::kInterrupted && waited != Errc::kCorrupt) {
    const Result<Reply> ended = end_unanswered();
    if (ended->call != 0) return ended;
  }
  return waited;
}

Errc Duplex::State::no_such_call(CallId call, const char* expected) {
  return side.misuse(
      make_error(Errc::kNotFound, call == 0 ? absl::StrCat("no call ", expected)
                                            : absl::StrCat("no call ", call, " ", expected)));
}

// Serving.

Errc Duplex::State::look_for_incoming() {
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  return inbox.empty() ? Errc::kWouldBlock : Errc::kOk;
}

Result<Incoming> Duplex::State::take_incoming() {
  const InboxEntry& entry = inbox.take();
  if (entry.call == 0) {
    store_tally(side.own_words().taken, inbox.one_ways_taken());
    side.wake_peer();
  }
  return Incoming{entry.call, entry.type, entry.payload};
}

Errc Duplex::State::answer(const Sending& sending, Deadline deadline) {
  if (!inbox.is_open(sending.head.call)) {
    return no_such_call(sending.head.call,
                        "waits for an answer: next() did not return it, or it "
                        "was answered");
  }
  const Errc sent = put(sending, deadline);
  if (sent == Errc::kOk) inbox.answer(sending.head.call);
  return sent;
}

Errc Duplex::State::look_for_credit() {
  const std::uint32_t window = side.peer().header().call_window;
  if (one_ways_sent - one_ways_taken < window) return Errc::kOk;
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  const std::uint64_t taken = load_tally(side.peer().words().taken.value);
  if (taken < one_ways_taken || taken > one_ways_sent) {
    return side.corrupt(absl::StrCat("it reports that it has taken ", taken,
                                     " one-way messages, but it was sent ", one_ways_sent));
  }
  one_ways_taken = taken;
  return one_ways_sent - taken < window ? Errc::kOk : Errc::kWouldBlock;
}

// Both.

Errc Duplex::State::look_for_arrival() {
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  return calls.first_done() == 0 && inbox.empty() ? Errc::kWouldBlock : Errc::kOk;
}

Errc Duplex::State::look_for_event() {
  const Errc arrived = look_for_arrival();
  return arrived == Errc::kWouldBlock && expired_call() != 0 ? Errc::kOk : arrived;
}

// Takes an arrived reply or message. An expired call counts as a reply, so that a peer that sends
// without end cannot prevent its end.
Result<Arrival> Duplex::State::take_arrival() {
  if (reply_is_next || inbox.empty()) {
    reply_is_next = false;
    if (const CallId done = calls.first_done(); done != 0) return arrival_of(take_reply(done));
    if (const CallId expired = expired_call(); expired != 0) {
      return arrival_of(end_call(expired, Errc::kTimedOut));
    }
  }
  reply_is_next = true;
  return Arrival{.kind = Arrival::Kind::kIncoming, .incoming = *take_incoming()};
}

Result<Arrival> Duplex::State::arrival_of(const Result<Reply>& reply) {
  if (reply->call == 0) return reply.error();
  return Arrival{.kind = Arrival::Kind::kReply, .reply = reply};
}

bool Duplex::State::arm(absl::FunctionRef<bool()> is_due) {
  if (side.enter() != Errc::kOk) return false;
  const bool polls = side.prepare_to_poll([&] {
    const Errc arrived = look_for_arrival();
    return arrived == Errc::kWouldBlock && is_due() ? Errc::kOk : arrived;
  });
  if (polls) count_one(empty_waits());
  return polls;
}

bool Duplex::State::has_event() {
  return side.enter() != Errc::kOk || look_for_event() != Errc::kWouldBlock;
}

bool Duplex::State::has_room(std::size_t bytes) {
  if (side.end() != Errc::kOk) return false;
  const FrameWriter::Room room = writer.claim(static_cast<std::uint32_t>(bytes));
  writer.abort();
  return room != FrameWriter::Room::kFull;  // the next operation reports corruption
}

bool Duplex::State::has_credit() {
  return side.end() == Errc::kOk && look_for_credit() != Errc::kWouldBlock;
}

bool Duplex::State::has_place() {
  return side.end() == Errc::kOk && calls.has_free_place();
}

}  // namespace lapwing
