#include "lapwing/duplex.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

// A peer that sends without end must not hold a wait beyond its deadline.
constexpr int kMessagesPerPump = 1024;

}  // namespace

Duplex::Duplex(std::unique_ptr<ChannelSession> opened)
    : ChannelEnd(std::move(opened)),
      writer_(make_writer()),
      reader_(make_reader()),
      calls_(session().peer().header().call_window),
      inbox_(session().own().header().call_window) {}

absl::StatusOr<Duplex> Duplex::connect(const std::string& path, const ChannelOptions& options,
                                       std::uint64_t deadline_ns) {
  return end_of<Duplex>(connect_channel(path, ChannelRole::kDuplex, options, deadline_ns));
}

absl::StatusOr<Duplex> Duplex::accept(ChannelListener& listener, const ChannelOptions& options,
                                      std::uint64_t deadline_ns) {
  return end_of<Duplex>(listener.accept(ChannelRole::kDuplex, options, deadline_ns));
}

ChannelResult Duplex::enter_to_send(std::size_t size) {
  if (const ChannelResult entered = enter(); entered != ChannelResult::kOk) return entered;
  if (size <= writer_.message_bytes_max()) return ChannelResult::kOk;
  return too_large(size, writer_.message_bytes_max());
}

ChannelResult Duplex::pump() {
  for (int i = 0; i < kMessagesPerPump; ++i) {
    Message message;
    const FrameReader::Look seen = reader_.look(reader_.position(), message);
    if (seen == FrameReader::Look::kEmpty) {
      session().look_left_more(false);
      return ChannelResult::kOk;
    }
    if (seen == FrameReader::Look::kCorrupt || !deliver(message)) {
      return session().corrupt(absl::StrCat("what stands at position ", reader_.position(),
                                            " is none that a duplex can have sent there"));
    }
    reader_.release(message.end, 1);
    session().wake_peer();
  }
  session().look_left_more(true);
  return ChannelResult::kOk;
}

bool Duplex::deliver(const Message& message) {
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

ChannelResult Duplex::try_put(const Sending& sending) {
  switch (writer_.claim(static_cast<std::uint32_t>(sending.payload.size()))) {
    case FrameWriter::Room::kYes:
      break;
    case FrameWriter::Room::kFull:
      return ChannelResult::kWouldBlock;
    case FrameWriter::Room::kCorrupt:
      return released_too_much(writer_);
  }
  std::memcpy(writer_.call_head(), &sending.head, sizeof sending.head);
  if (!sending.payload.empty()) {
    std::memcpy(writer_.payload().data(), sending.payload.data(), sending.payload.size());
  }
  writer_.stage(static_cast<std::uint32_t>(sending.payload.size()), sending.type);
  writer_.publish();
  session().wake_peer();
  return ChannelResult::kOk;
}

ChannelResult Duplex::look_for_room(const Sending& sending) {
  if (const ChannelResult pumped = pump(); pumped != ChannelResult::kOk) return pumped;
  return session().end() == ChannelResult::kOk ? try_put(sending) : ChannelResult::kWouldBlock;
}

ChannelResult Duplex::put(const Sending& sending, std::uint64_t deadline_ns) {
  const ChannelResult now = try_put(sending);
  if (now != ChannelResult::kWouldBlock) return now;
  return session().wait([&] { return look_for_room(sending); }, deadline_ns, full_waits());
}

// Calling.

ChannelResult Duplex::look_for_place() {
  if (calls_.has_free_place()) return ChannelResult::kOk;
  if (const ChannelResult pumped = pump(); pumped != ChannelResult::kOk) return pumped;
  if (calls_.has_free_place()) return ChannelResult::kOk;
  if (!calls_.only_untaken()) return ChannelResult::kWouldBlock;
  return session().misuse(
      make_error(Errc::kLimit,
                 "every call that the other side takes at once has its reply, and none was "
                 "taken; take replies with finish() or finish_any() before starting more"));
}

StartedCall Duplex::send_call(std::span<const std::byte> payload, std::uint32_t type,
                              std::uint64_t deadline_ns, bool waits) {
  StartedCall started;
  started.result = enter_to_send(payload.size());
  if (started.result != ChannelResult::kOk) return started;
  started.result = look_for_place();
  if (started.result == ChannelResult::kWouldBlock && waits) {
    started.result = session().wait([&] { return look_for_place(); }, deadline_ns, empty_waits());
  }
  if (started.result != ChannelResult::kOk) return started;
  const CallId call = calls_.reserve();
  const Sending sending{{call, CallKind::kCall, 0}, payload, type};
  started.result = waits ? put(sending, deadline_ns) : look_for_room(sending);
  if (started.result == ChannelResult::kOk) {
    calls_.start(call, deadline_ns);
    started.call = call;
  } else {
    calls_.forget(call);
  }
  return started;
}

StartedCall Duplex::try_start(std::span<const std::byte> payload, std::uint32_t type,
                              std::uint64_t deadline_ns) {
  return send_call(payload, type, deadline_ns, false);
}

StartedCall Duplex::start(std::span<const std::byte> payload, std::uint32_t type,
                          std::uint64_t deadline_ns) {
  return send_call(payload, type, deadline_ns, true);
}

Reply Duplex::call(std::span<const std::byte> payload, std::uint32_t type,
                   std::uint64_t deadline_ns) {
  const StartedCall started = start(payload, type, deadline_ns);
  if (started.result == ChannelResult::kOk) return finish(started.call);
  Reply reply;
  reply.result = started.result;
  return reply;
}

ChannelResult Duplex::look_for_reply(CallId call) {
  if (const ChannelResult pumped = pump(); pumped != ChannelResult::kOk) return pumped;
  return calls_.fate(call) == CallTable::Fate::kDone ? ChannelResult::kOk
                                                     : ChannelResult::kWouldBlock;
}

Reply Duplex::finish(CallId call) {
  Reply reply;
  reply.call = call;
  if (reply.result = enter_to_read(); reply.result != ChannelResult::kOk) return reply;
  if (calls_.fate(call) == CallTable::Fate::kUnknown) {
    reply.result = no_such_call(call, "is under way: it never was, or has ended");
    return reply;
  }
  reply.result =
      session().wait([&] { return look_for_reply(call); }, calls_.deadline_ns(call), empty_waits());
  if (reply.result == ChannelResult::kOk) return take_reply(call);
  if (reply.result == ChannelResult::kTimedOut) return expire(call);
  return reply;
}

Reply Duplex::take_reply(CallId call) {
  const StoredReply& stored = calls_.take(call);
  return {ChannelResult::kOk, call, stored.is_error, stored.code, stored.type, stored.payload};
}

// Tells the server, if there is room for that; its reply comes all the same, and is dropped.
Reply Duplex::expire(CallId call) {
  calls_.abandon(call);
  if (session().end() == ChannelResult::kOk) try_put({{call, CallKind::kCancel, 0}, {}, 0});
  Reply reply;
  reply.result = ChannelResult::kTimedOut;
  reply.call = call;
  return reply;
}

ChannelResult Duplex::look_for_any_reply() {
  if (const ChannelResult pumped = pump(); pumped != ChannelResult::kOk) return pumped;
  return calls_.first_done() != 0 ? ChannelResult::kOk : ChannelResult::kWouldBlock;
}

Reply Duplex::try_finish_any() {
  Reply reply;
  if (reply.result = enter_to_read(); reply.result != ChannelResult::kOk) return reply;
  reply.result = look_for_any_reply();
  if (reply.result == ChannelResult::kOk) return take_reply(calls_.first_done());
  if (reply.result != ChannelResult::kWouldBlock) return reply;
  const CallId next = calls_.first_to_expire();
  if (next == 0) {
    reply.result = no_such_call(0, "is under way");
  } else if (calls_.deadline_ns(next) <= monotonic_ns()) {
    return expire(next);
  } else {
    reply.result = session().nothing_there();
  }
  return reply;
}

Reply Duplex::finish_any(std::uint64_t deadline_ns) {
  Reply reply = try_finish_any();
  if (reply.result != ChannelResult::kWouldBlock) return reply;
  const CallId next = calls_.first_to_expire();
  const std::uint64_t expires_ns = calls_.deadline_ns(next);
  reply.result = session().wait_on([&] { return look_for_any_reply(); },
                                   std::min(deadline_ns, expires_ns), empty_waits());
  if (reply.result == ChannelResult::kOk) return take_reply(calls_.first_done());
  if (reply.result == ChannelResult::kTimedOut && expires_ns <= deadline_ns) return expire(next);
  return reply;
}

ChannelResult Duplex::cancel(CallId call) {
  if (const ChannelResult entered = enter_to_read(); entered != ChannelResult::kOk) return entered;
  switch (calls_.fate(call)) {
    case CallTable::Fate::kWaiting:
      expire(call);
      return ChannelResult::kOk;
    case CallTable::Fate::kDone:
      calls_.take(call);
      return ChannelResult::kOk;
    case CallTable::Fate::kUnknown:
      break;
  }
  return no_such_call(call, "is under way: it never was, or has ended");
}

// Serving.

ChannelResult Duplex::look_for_incoming() {
  if (const ChannelResult pumped = pump(); pumped != ChannelResult::kOk) return pumped;
  return inbox_.empty() ? ChannelResult::kWouldBlock : ChannelResult::kOk;
}

Incoming Duplex::take_incoming() {
  const InboxEntry& entry = inbox_.take();
  if (entry.call == 0) {
    store_tally(words().taken, inbox_.one_ways_taken());
    session().wake_peer();
  }
  return {ChannelResult::kOk, entry.call, entry.type, entry.payload};
}

Incoming Duplex::try_next() {
  Incoming incoming;
  if (incoming.result = enter_to_read(); incoming.result != ChannelResult::kOk) return incoming;
  incoming.result = look_for_incoming();
  if (incoming.result == ChannelResult::kOk) return take_incoming();
  if (incoming.result == ChannelResult::kWouldBlock) incoming.result = session().nothing_there();
  return incoming;
}

Incoming Duplex::next(std::uint64_t deadline_ns) {
  Incoming incoming = try_next();
  if (incoming.result != ChannelResult::kWouldBlock) return incoming;
  incoming.result =
      session().wait_on([&] { return look_for_incoming(); }, deadline_ns, empty_waits());
  return incoming.result == ChannelResult::kOk ? take_incoming() : incoming;
}

ChannelResult Duplex::answer(const Sending& sending, std::uint64_t deadline_ns) {
  const ChannelResult entered = enter_to_send(sending.payload.size());
  if (entered != ChannelResult::kOk) return entered;
  if (!inbox_.is_open(sending.head.call)) {
    return no_such_call(sending.head.call,
                        "waits for an answer: next() did not return it, or it "
                        "was answered");
  }
  const ChannelResult sent = put(sending, deadline_ns);
  if (sent == ChannelResult::kOk) inbox_.answer(sending.head.call);
  return sent;
}

ChannelResult Duplex::reply(CallId call, std::span<const std::byte> payload, std::uint32_t type,
                            std::uint64_t deadline_ns) {
  return answer({{call, CallKind::kReply, 0}, payload, type}, deadline_ns);
}

ChannelResult Duplex::reply_error(CallId call, std::uint32_t code, const std::string& text,
                                  std::uint64_t deadline_ns) {
  const std::size_t size = std::min<std::size_t>(text.size(), writer_.message_bytes_max());
  const std::span<const std::byte> payload = std::as_bytes(std::span(text)).first(size);
  return answer({{call, CallKind::kErrorReply, code}, payload, 0}, deadline_ns);
}

bool Duplex::is_cancelled(CallId call) {
  if (enter_to_read() == ChannelResult::kOk) pump();
  return has_session() && inbox_.is_cancelled(call);
}

// One-way messages.

ChannelResult Duplex::look_for_credit() {
  const std::uint32_t window = session().peer().header().call_window;
  if (one_ways_sent_ - one_ways_taken_ < window) return ChannelResult::kOk;
  if (const ChannelResult pumped = pump(); pumped != ChannelResult::kOk) return pumped;
  const std::uint64_t taken = load_tally(session().peer().words().taken.value);
  if (taken < one_ways_taken_ || taken > one_ways_sent_) {
    return session().corrupt(absl::StrCat("it says that it has taken ", taken,
                                          " one-way messages and was sent ", one_ways_sent_));
  }
  one_ways_taken_ = taken;
  return one_ways_sent_ - taken < window ? ChannelResult::kOk : ChannelResult::kWouldBlock;
}

ChannelResult Duplex::try_send(std::span<const std::byte> payload, std::uint32_t type) {
  if (const ChannelResult entered = enter_to_send(payload.size()); entered != ChannelResult::kOk) {
    return entered;
  }
  if (const ChannelResult credit = look_for_credit(); credit != ChannelResult::kOk) return credit;
  const ChannelResult sent = look_for_room({{0, CallKind::kOneWay, 0}, payload, type});
  if (sent == ChannelResult::kOk) ++one_ways_sent_;
  return sent;
}

ChannelResult Duplex::send(std::span<const std::byte> payload, std::uint32_t type,
                           std::uint64_t deadline_ns) {
  if (const ChannelResult entered = enter_to_send(payload.size()); entered != ChannelResult::kOk) {
    return entered;
  }
  const ChannelResult credit =
      session().wait([&] { return look_for_credit(); }, deadline_ns, full_waits());
  if (credit != ChannelResult::kOk) return credit;
  const ChannelResult sent = put({{0, CallKind::kOneWay, 0}, payload, type}, deadline_ns);
  if (sent == ChannelResult::kOk) ++one_ways_sent_;
  return sent;
}

// The rest.

bool Duplex::prepare_to_poll() {
  if (enter_to_read() != ChannelResult::kOk || session().end() != ChannelResult::kOk) return false;
  const bool polls = session().prepare_to_poll([&] {
    const ChannelResult reply = look_for_any_reply();
    return reply == ChannelResult::kWouldBlock ? look_for_incoming() : reply;
  });
  if (polls) count_one(empty_waits());
  return polls;
}

void Duplex::close() {
  if (has_session()) session().close();
}

ChannelResult Duplex::no_such_call(CallId call, const char* expected) {
  return session().misuse(
      make_error(Errc::kNotFound, call == 0 ? absl::StrCat("no call ", expected)
                                            : absl::StrCat("no call ", call, " ", expected)));
}

}  // namespace lapwing
