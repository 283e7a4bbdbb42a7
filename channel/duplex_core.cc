#include "channel/duplex_core.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "channel/side.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

// A peer that sends without end must not hold a wait beyond its deadline.
constexpr int kMessagesPerPump = 1024;

Result<Arrival> arrival_of(const Result<Reply>& reply) {
  if (reply->call == 0) return reply.error();
  return Arrival{.kind = Arrival::Kind::kReply, .reply = reply};
}

}  // namespace

DuplexCore::DuplexCore(ChannelHandle opened, bool late_replies)
    : ChannelEnd(std::move(opened)),
      writer_(make_writer()),
      reader_(make_reader()),
      calls_(side().peer().header().call_window, late_replies),
      inbox_(side().own().header().call_window) {}

Errc DuplexCore::enter_to_send(std::size_t size) {
  if (const Errc entered = enter(); entered != Errc::kOk) return entered;
  if (size <= writer_.message_bytes_max()) return Errc::kOk;
  return too_large(size, writer_.message_bytes_max());
}

Errc DuplexCore::pump() {
  for (int i = 0; i < kMessagesPerPump; ++i) {
    Message message;
    const FrameReader::Look seen = reader_.look(reader_.position(), message);
    if (seen == FrameReader::Look::kEmpty) {
      side().look_left_more(false);
      return Errc::kOk;
    }
    if (seen == FrameReader::Look::kCorrupt || !deliver(message)) {
      return side().corrupt(absl::StrCat("what stands at position ", reader_.position(),
                                         " is none that a duplex can have sent there"));
    }
    reader_.release(message.end, 1);
    side().wake_peer();
  }
  side().look_left_more(true);
  return Errc::kOk;
}

bool DuplexCore::deliver(const Message& message) {
  CallHead head;
  std::memcpy(&head, reader_.call_head(message), sizeof head);
  switch (head.kind) {
    case CallKind::kOneWay:
      return inbox_.add_one_way(message.type, message.payload);
    case CallKind::kCall:
      return inbox_.add_call(head.call, message.type, message.payload);
    case CallKind::kReply:
      return calls_.complete(head.call, message.type, 0, false, message.payload);
    case CallKind::kErrorReply:
      return calls_.complete(head.call, message.type, head.code, true, message.payload);
    case CallKind::kCancel:
      inbox_.cancel(head.call);
      return true;
  }
  return false;
}

Errc DuplexCore::try_put(const Sending& sending) {
  switch (writer_.claim(static_cast<std::uint32_t>(sending.payload.size()))) {
    case FrameWriter::Room::kYes:
      break;
    case FrameWriter::Room::kFull:
      return Errc::kWouldBlock;
    case FrameWriter::Room::kCorrupt:
      return released_too_much(writer_);
  }
  std::memcpy(writer_.call_head(), &sending.head, sizeof sending.head);
  if (!sending.payload.empty()) {
    std::memcpy(writer_.payload().data(), sending.payload.data(), sending.payload.size());
  }
  writer_.commit(static_cast<std::uint32_t>(sending.payload.size()), sending.type);
  side().wake_peer();
  return Errc::kOk;
}

Errc DuplexCore::look_for_room(const Sending& sending) {
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  return side().end() == Errc::kOk ? try_put(sending) : Errc::kWouldBlock;
}

Errc DuplexCore::put(const Sending& sending, Deadline deadline) {
  const Errc now = try_put(sending);
  if (now != Errc::kWouldBlock) return now;
  return side().wait([&] { return look_for_room(sending); }, deadline.monotonic_ns(), full_waits());
}

// Calling.

Errc DuplexCore::look_for_place() {
  if (calls_.has_free_place()) return Errc::kOk;
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  if (calls_.has_free_place()) return Errc::kOk;
  if (!calls_.only_untaken()) return Errc::kWouldBlock;
  return side().misuse(
      make_error(Errc::kLimit,
                 "every call that the other side takes at once has its reply, and none was "
                 "taken; take replies with finish() or finish_any() before starting more"));
}

Result<CallId> DuplexCore::send_call(std::span<const std::byte> payload, std::uint32_t type,
                                     Deadline deadline, bool waits) {
  if (const Errc entered = enter_to_send(payload.size()); entered != Errc::kOk) return entered;
  Errc result = look_for_place();
  if (result == Errc::kWouldBlock && waits) {
    result = side().wait([&] { return look_for_place(); }, deadline.monotonic_ns(), empty_waits());
  }
  if (result != Errc::kOk) return result;
  const CallId call = calls_.reserve();
  const Sending sending{{call, CallKind::kCall, 0}, payload, type};
  result = waits ? put(sending, deadline) : look_for_room(sending);
  if (result != Errc::kOk) {
    calls_.forget(call);
    return result;
  }
  calls_.start(call, deadline.monotonic_ns(), writer_.position());
  return call;
}

Result<CallId> DuplexCore::try_start(std::span<const std::byte> payload, std::uint32_t type,
                                     Deadline deadline) {
  return send_call(payload, type, deadline, false);
}

Result<CallId> DuplexCore::start(std::span<const std::byte> payload, std::uint32_t type,
                                 Deadline deadline) {
  return send_call(payload, type, deadline, true);
}

Result<Reply> DuplexCore::call(std::span<const std::byte> payload, std::uint32_t type,
                               Deadline deadline) {
  const Result<CallId> started = start(payload, type, deadline);
  if (started.ok()) return finish(*started);
  return {started.error(), {.delivery = Delivery::kNotSent}};
}

Errc DuplexCore::look_for_reply(CallId call) {
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  return calls_.fate(call) == CallTable::Fate::kDone ? Errc::kOk : Errc::kWouldBlock;
}

Result<Reply> DuplexCore::finish(CallId call) {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return unanswered(call, entered);
  if (calls_.fate(call) == CallTable::Fate::kUnknown) {
    return unanswered(call, no_such_call(call, "is under way: it never was, or has ended"));
  }
  const Errc waited =
      side().wait([&] { return look_for_reply(call); }, calls_.deadline_ns(call), empty_waits());
  switch (waited) {
    case Errc::kOk:
      return take_reply(call);
    case Errc::kTimedOut:
    case Errc::kWouldBlock:
      return end_call(call, Errc::kTimedOut);
    case Errc::kPeerGone:
    case Errc::kClosed:
      return end_call(call, waited);
    default:
      return unanswered(call, waited);
  }
}

Result<Reply> DuplexCore::take_reply(CallId call) {
  const StoredReply& stored = calls_.take(call);
  return Reply{call,        stored.is_error, stored.is_late,  stored.code,
               stored.type, stored.payload,  Delivery::kTaken};
}

Result<Reply> DuplexCore::unanswered(CallId call, Errc why) {
  return {why, {.call = call, .delivery = delivery_of(call)}};
}

// Without an answer. Notifies the server, if there is room for that; its reply comes all the same,
// and is dropped or kept.
Result<Reply> DuplexCore::end_call(CallId call, Errc why) {
  const Result<Reply> reply = unanswered(call, why);
  calls_.abandon(call);
  if (side().end() == Errc::kOk) try_put({{call, CallKind::kCancel, 0}, {}, 0});
  return reply;
}

// The other side's words stay mapped when it ends, and say what it had released. Where it was killed
// before it had released a frame, its next() had not returned either.
Delivery DuplexCore::delivery_of(CallId call) {
  if (!has_side() || side().in_child()) return Delivery::kUnknown;
  switch (calls_.fate(call)) {
    case CallTable::Fate::kWaiting:
      return writer_.has_released(calls_.request_end(call)) ? Delivery::kTaken : Delivery::kSent;
    case CallTable::Fate::kDone:
      return Delivery::kTaken;
    case CallTable::Fate::kUnknown:
      break;
  }
  return Delivery::kUnknown;
}

// The clock is read only where a call under way has a deadline.
CallId DuplexCore::expired_call() const {
  const CallId next = calls_.first_to_expire();
  const bool has_expired =
      next != 0 && Deadline::at_monotonic_ns(calls_.deadline_ns(next)).has_passed();
  return has_expired ? next : 0;
}

// Where no reply has come: the end of a call that ends all the same. Call 0: none does.
Result<Reply> DuplexCore::end_unanswered() {
  const Errc nothing = side().nothing_there();
  const bool has_ended = nothing != Errc::kWouldBlock;
  const CallId next = has_ended ? calls_.first_to_expire() : expired_call();
  if (next == 0) return nothing;
  return end_call(next, has_ended ? nothing : Errc::kTimedOut);
}

// The same after a wait that found none, until its deadline or that of a call.
Result<Reply> DuplexCore::end_after_wait(Errc waited) {
  if (waited != Errc::kInterrupted && waited != Errc::kCorrupt) {
    const Result<Reply> ended = end_unanswered();
    if (ended->call != 0) return ended;
  }
  return waited;
}

Errc DuplexCore::look_for_any_reply() {
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  return calls_.first_done() != 0 ? Errc::kOk : Errc::kWouldBlock;
}

Result<Reply> DuplexCore::try_finish_any() {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  const Errc seen = look_for_any_reply();
  if (seen == Errc::kOk) return take_reply(calls_.first_done());
  if (seen != Errc::kWouldBlock) return seen;
  const Result<Reply> ended = end_unanswered();
  const bool is_open = ended.error() == Errc::kWouldBlock;
  if (is_open && calls_.first_to_expire() == 0 && !calls_.awaits_late()) {
    return no_such_call(0, "is under way");
  }
  return ended;
}

Result<Reply> DuplexCore::finish_any(Deadline deadline) {
  const Result<Reply> now = try_finish_any();
  if (now.error() != Errc::kWouldBlock) return now;
  const Errc waited =
      side().wait_on([&] { return look_for_any_reply(); },
                     std::min(deadline.monotonic_ns(), next_expiry_ns()), empty_waits());
  return waited == Errc::kOk ? take_reply(calls_.first_done()) : end_after_wait(waited);
}

Errc DuplexCore::cancel(CallId call) {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  switch (calls_.fate(call)) {
    case CallTable::Fate::kWaiting:
      (void)end_call(call, Errc::kTimedOut);
      return Errc::kOk;
    case CallTable::Fate::kDone:
      calls_.take(call);
      return Errc::kOk;
    case CallTable::Fate::kUnknown:
      break;
  }
  return no_such_call(call, "is under way: it never was, or has ended");
}

// Serving.

Errc DuplexCore::look_for_incoming() {
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  return inbox_.empty() ? Errc::kWouldBlock : Errc::kOk;
}

Result<Incoming> DuplexCore::take_incoming() {
  const InboxEntry& entry = inbox_.take();
  if (entry.call == 0) {
    store_tally(words().taken, inbox_.one_ways_taken());
    side().wake_peer();
  }
  return Incoming{entry.call, entry.type, entry.payload};
}

Result<Incoming> DuplexCore::try_next() {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  const Errc seen = look_for_incoming();
  if (seen == Errc::kOk) return take_incoming();
  return seen == Errc::kWouldBlock ? side().nothing_there() : seen;
}

Result<Incoming> DuplexCore::next(Deadline deadline) {
  const Result<Incoming> now = try_next();
  if (now.error() != Errc::kWouldBlock) return now;
  const Errc waited =
      side().wait_on([&] { return look_for_incoming(); }, deadline.monotonic_ns(), empty_waits());
  return waited == Errc::kOk ? take_incoming() : waited;
}

// Both.

// Something has arrived. A call that has expired counts as a reply, or a peer that sends without
// end would keep it from its end.
Result<Arrival> DuplexCore::take_arrival() {
  if (reply_is_next_ || inbox_.empty()) {
    reply_is_next_ = false;
    if (const CallId done = calls_.first_done(); done != 0) return arrival_of(take_reply(done));
    if (const CallId expired = expired_call(); expired != 0) {
      return arrival_of(end_call(expired, Errc::kTimedOut));
    }
  }
  reply_is_next_ = true;
  return Arrival{.kind = Arrival::Kind::kIncoming, .incoming = *take_incoming()};
}

Result<Arrival> DuplexCore::try_wait_any() {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  const Errc seen = look_for_arrival();
  if (seen == Errc::kOk) return take_arrival();
  if (seen != Errc::kWouldBlock) return seen;
  return arrival_of(end_unanswered());
}

Result<Arrival> DuplexCore::wait_any(Deadline deadline) {
  const Result<Arrival> now = try_wait_any();
  if (now.error() != Errc::kWouldBlock) return now;
  const Errc waited =
      side().wait_on([&] { return look_for_arrival(); },
                     std::min(deadline.monotonic_ns(), next_expiry_ns()), empty_waits());
  return waited == Errc::kOk ? take_arrival() : arrival_of(end_after_wait(waited));
}

// Answering.

Errc DuplexCore::answer(const Sending& sending, Deadline deadline) {
  const Errc entered = enter_to_send(sending.payload.size());
  if (entered != Errc::kOk) return entered;
  if (!inbox_.is_open(sending.head.call)) {
    return no_such_call(sending.head.call,
                        "waits for an answer: next() did not return it, or it "
                        "was answered");
  }
  const Errc sent = put(sending, deadline);
  if (sent == Errc::kOk) inbox_.answer(sending.head.call);
  return sent;
}

Errc DuplexCore::reply(CallId call, std::span<const std::byte> payload, std::uint32_t type,
                       Deadline deadline) {
  return answer({{call, CallKind::kReply, 0}, payload, type}, deadline);
}

Errc DuplexCore::reply_error(CallId call, std::uint32_t code, const std::string& text,
                             Deadline deadline) {
  const std::size_t size = std::min<std::size_t>(text.size(), writer_.message_bytes_max());
  const std::span<const std::byte> payload = std::as_bytes(std::span(text)).first(size);
  return answer({{call, CallKind::kErrorReply, code}, payload, 0}, deadline);
}

bool DuplexCore::is_cancelled(CallId call) {
  if (enter_to_read() == Errc::kOk) pump();
  return has_side() && inbox_.is_cancelled(call);
}

// One-way messages.

Errc DuplexCore::look_for_credit() {
  const std::uint32_t window = side().peer().header().call_window;
  if (one_ways_sent_ - one_ways_taken_ < window) return Errc::kOk;
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  const std::uint64_t taken = load_tally(side().peer().words().taken.value);
  if (taken < one_ways_taken_ || taken > one_ways_sent_) {
    return side().corrupt(absl::StrCat("it says that it has taken ", taken,
                                       " one-way messages and was sent ", one_ways_sent_));
  }
  one_ways_taken_ = taken;
  return one_ways_sent_ - taken < window ? Errc::kOk : Errc::kWouldBlock;
}

Errc DuplexCore::try_send(std::span<const std::byte> payload, std::uint32_t type) {
  if (const Errc entered = enter_to_send(payload.size()); entered != Errc::kOk) {
    return entered;
  }
  if (const Errc credit = look_for_credit(); credit != Errc::kOk) return credit;
  const Errc sent = look_for_room({{0, CallKind::kOneWay, 0}, payload, type});
  if (sent == Errc::kOk) ++one_ways_sent_;
  return sent;
}

Errc DuplexCore::send(std::span<const std::byte> payload, std::uint32_t type, Deadline deadline) {
  if (const Errc entered = enter_to_send(payload.size()); entered != Errc::kOk) {
    return entered;
  }
  const Errc credit =
      side().wait([&] { return look_for_credit(); }, deadline.monotonic_ns(), full_waits());
  if (credit != Errc::kOk) return credit;
  const Errc sent = put({{0, CallKind::kOneWay, 0}, payload, type}, deadline);
  if (sent == Errc::kOk) ++one_ways_sent_;
  return sent;
}

// The rest.

Errc DuplexCore::look_for_arrival() {
  if (const Errc pumped = pump(); pumped != Errc::kOk) return pumped;
  return calls_.first_done() == 0 && inbox_.empty() ? Errc::kWouldBlock : Errc::kOk;
}

Errc DuplexCore::look_for_event() {
  const Errc arrived = look_for_arrival();
  return arrived == Errc::kWouldBlock && expired_call() != 0 ? Errc::kOk : arrived;
}

bool DuplexCore::has_event() {
  return enter() != Errc::kOk || look_for_event() != Errc::kWouldBlock;
}

std::uint64_t DuplexCore::next_expiry_ns() const {
  const CallId next = calls_.first_to_expire();
  return next == 0 ? Deadline::never().monotonic_ns() : calls_.deadline_ns(next);
}

WaitSource* DuplexCore::wait_source() {
  static constexpr EndWait kForArrival = {
      [](ChannelEnd& end, std::size_t) { return static_cast<DuplexCore&>(end).look_for_event(); },
      [](const ChannelEnd& end) { return static_cast<const DuplexCore&>(end).next_expiry_ns(); },
      &ChannelWords::empty_waits};
  if (!has_side()) return nullptr;
  side().set_wait(kForArrival, 0);
  return &side();
}

bool DuplexCore::arm(absl::FunctionRef<bool()> is_due) {
  if (enter_to_read() != Errc::kOk || side().end() != Errc::kOk) return false;
  const bool polls = side().prepare_to_poll([&] {
    const Errc arrived = look_for_arrival();
    return arrived == Errc::kWouldBlock && is_due() ? Errc::kOk : arrived;
  });
  if (polls) count_one(empty_waits());
  return polls;
}

bool DuplexCore::has_room(std::size_t bytes) {
  if (!is_open()) return false;
  const FrameWriter::Room room = writer_.claim(static_cast<std::uint32_t>(bytes));
  writer_.abort();
  return room != FrameWriter::Room::kFull;  // what is corrupt is found by the next operation
}

bool DuplexCore::has_credit() {
  return is_open() && look_for_credit() != Errc::kWouldBlock;
}

bool DuplexCore::has_place() {
  return is_open() && calls_.has_free_place();
}

DuplexCounters DuplexCore::duplex_counters() {
  if (!has_side() || side().in_child()) return {};
  const std::uint64_t taken = load_tally(side().peer().words().taken.value);
  const bool is_possible = taken >= one_ways_taken_ && taken <= one_ways_sent_;
  return {calls_.late_replies(), one_ways_sent_, is_possible ? taken : one_ways_taken_};
}

void DuplexCore::close() {
  if (has_side()) side().close();
}

Errc DuplexCore::no_such_call(CallId call, const char* expected) {
  return side().misuse(
      make_error(Errc::kNotFound, call == 0 ? absl::StrCat("no call ", expected)
                                            : absl::StrCat("no call ", call, " ", expected)));
}

}  // namespace lapwing
