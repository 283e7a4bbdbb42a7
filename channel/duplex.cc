#include "lapwing/duplex.h"

#include <algorithm>
#include <utility>

#include "channel/duplex_state.h"
#include "channel/handshake.h"
#include "channel/side.h"
#include "lapwing/error.h"
#include "lapwing/listener.h"
#include "os/fork.h"

namespace lapwing {

absl::StatusOr<Duplex> Duplex::connect(const std::string& path, const ChannelOptions& options,
                                       Deadline deadline) {
  auto side = connect_channel(path, ChannelRole::kDuplex, options, deadline.monotonic_ns());
  if (!side.ok()) return side.status();
  return Duplex(ChannelHandle(side->release()), options.late_replies);
}

absl::StatusOr<Duplex> Duplex::accept(ChannelListener& listener, const ChannelOptions& options,
                                      Deadline deadline) {
  auto side = listener.accept(ChannelRole::kDuplex, options, deadline);
  if (!side.ok()) return side.status();
  return Duplex(ChannelHandle(side->release()), options.late_replies);
}

Duplex::Duplex(ChannelHandle opened, bool late_replies)
    : ChannelEnd(std::move(opened)),
      state_(new State(side(), make_writer(), make_reader(), late_replies)) {}
Duplex::Duplex(Duplex&&) noexcept = default;
Duplex& Duplex::operator=(Duplex&&) noexcept = default;
Duplex::~Duplex() = default;
void Duplex::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->made);
}

Errc Duplex::enter_to_send(std::size_t size) {
  if (const Errc entered = enter(); entered != Errc::kOk) return entered;
  if (size <= message_bytes_max()) return Errc::kOk;
  return too_large(size, message_bytes_max());
}

// Calling.

Result<Reply> Duplex::call(std::span<const std::byte> payload, std::uint32_t type,
                           Deadline deadline) {
  const Result<CallId> started = start(payload, type, deadline);
  if (started.ok()) return finish(*started);
  return {started.error(), {.delivery = Delivery::kNotSent}};
}

Result<CallId> Duplex::try_start(std::span<const std::byte> payload, std::uint32_t type,
                                 Deadline deadline) {
  if (const Errc entered = enter_to_send(payload.size()); entered != Errc::kOk) return entered;
  return state_->start(payload, type, deadline, false);
}

Result<CallId> Duplex::start(std::span<const std::byte> payload, std::uint32_t type,
                             Deadline deadline) {
  if (const Errc entered = enter_to_send(payload.size()); entered != Errc::kOk) return entered;
  return state_->start(payload, type, deadline, true);
}

Result<Reply> Duplex::finish(CallId call) {
  const Errc entered = enter_to_read();
  if (!has_side()) return {entered, {.call = call}};
  State& state = *state_;
  if (entered != Errc::kOk) return state.unanswered(call, entered);
  if (state.calls.fate(call) == CallTable::Fate::kUnknown) {
    return state.unanswered(call,
                            state.no_such_call(call, "is under way: it never was, or has ended"));
  }
  const Errc waited = side().wait([&] { return state.look_for_reply(call); },
                                  state.calls.deadline_ns(call), state.empty_waits());
  switch (waited) {
    case Errc::kOk:
      return state.take_reply(call);
    case Errc::kTimedOut:
    case Errc::kWouldBlock:
      return state.end_call(call, Errc::kTimedOut);
    case Errc::kPeerGone:
    case Errc::kClosed:
      return state.end_call(call, waited);
    default:
      return state.unanswered(call, waited);
  }
}

Result<Reply> Duplex::try_finish_any() {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  State& state = *state_;
  const Errc seen = state.look_for_any_reply();
  if (seen == Errc::kOk) return state.take_reply(state.calls.first_done());
  if (seen != Errc::kWouldBlock) return seen;
  const Result<Reply> ended = state.end_unanswered();
  const bool is_open = ended.error() == Errc::kWouldBlock;
  if (is_open && state.calls.first_to_expire() == 0 && !state.calls.awaits_late()) {
    return state.no_such_call(0, "is under way");
  }
  return ended;
}

Result<Reply> Duplex::finish_any(Deadline deadline) {
  const Result<Reply> now = try_finish_any();
  if (now.error() != Errc::kWouldBlock) return now;
  State& state = *state_;
  const Errc waited = side().wait_on([&] { return state.look_for_any_reply(); },
                                     std::min(deadline.monotonic_ns(), state.next_expiry_ns()),
                                     state.empty_waits());
  return waited == Errc::kOk ? state.take_reply(state.calls.first_done())
                             : state.end_after_wait(waited);
}

Result<> Duplex::cancel(CallId call) {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  switch (state_->calls.fate(call)) {
    case CallTable::Fate::kWaiting:
      (void)state_->end_call(call, Errc::kTimedOut);
      return Errc::kOk;
    case CallTable::Fate::kDone:
      state_->calls.take(call);
      return Errc::kOk;
    case CallTable::Fate::kUnknown:
      break;
  }
  return state_->no_such_call(call, "is under way: it never was, or has ended");
}

// Serving.

Result<Incoming> Duplex::try_next() {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  const Errc seen = state_->look_for_incoming();
  if (seen == Errc::kOk) return state_->take_incoming();
  return seen == Errc::kWouldBlock ? side().nothing_there() : seen;
}

Result<Incoming> Duplex::next(Deadline deadline) {
  const Result<Incoming> now = try_next();
  if (now.error() != Errc::kWouldBlock) return now;
  const Errc waited = side().wait_on([&] { return state_->look_for_incoming(); },
                                     deadline.monotonic_ns(), state_->empty_waits());
  return waited == Errc::kOk ? state_->take_incoming() : waited;
}

Result<Arrival> Duplex::try_wait_any() {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  const Errc seen = state_->look_for_arrival();
  if (seen == Errc::kOk) return state_->take_arrival();
  if (seen != Errc::kWouldBlock) return seen;
  return State::arrival_of(state_->end_unanswered());
}

Result<Arrival> Duplex::wait_any(Deadline deadline) {
  const Result<Arrival> now = try_wait_any();
  if (now.error() != Errc::kWouldBlock) return now;
  State& state = *state_;
  const Errc waited = side().wait_on([&] { return state.look_for_arrival(); },
                                     std::min(deadline.monotonic_ns(), state.next_expiry_ns()),
                                     state.empty_waits());
  return waited == Errc::kOk ? state.take_arrival()
                             : State::arrival_of(state.end_after_wait(waited));
}

Result<> Duplex::reply(CallId call, std::span<const std::byte> payload, std::uint32_t type,
                       Deadline deadline) {
  if (const Errc entered = enter_to_send(payload.size()); entered != Errc::kOk) return entered;
  return state_->answer({{call, CallKind::kReply, 0}, payload, type}, deadline);
}

Result<> Duplex::reply_error(CallId call, std::uint32_t code, const std::string& text,
                             Deadline deadline) {
  if (const Errc entered = enter(); entered != Errc::kOk) return entered;
  const std::size_t size = std::min<std::size_t>(text.size(), message_bytes_max());
  const std::span<const std::byte> payload = std::as_bytes(std::span(text)).first(size);
  return state_->answer({{call, CallKind::kErrorReply, code}, payload, 0}, deadline);
}

bool Duplex::is_cancelled(CallId call) {
  if (enter_to_read() == Errc::kOk) state_->pump();
  return has_side() && state_->inbox.is_cancelled(call);
}

// One-way messages.

Result<> Duplex::try_send(std::span<const std::byte> payload, std::uint32_t type) {
  if (const Errc entered = enter_to_send(payload.size()); entered != Errc::kOk) return entered;
  if (const Errc credit = state_->look_for_credit(); credit != Errc::kOk) return credit;
  const Errc sent = state_->look_for_room({{0, CallKind::kOneWay, 0}, payload, type});
  if (sent == Errc::kOk) ++state_->one_ways_sent;
  return sent;
}

Result<> Duplex::send(std::span<const std::byte> payload, std::uint32_t type, Deadline deadline) {
  if (const Errc entered = enter_to_send(payload.size()); entered != Errc::kOk) return entered;
  const Errc credit = side().wait([&] { return state_->look_for_credit(); },
                                  deadline.monotonic_ns(), state_->full_waits());
  if (credit != Errc::kOk) return credit;
  const Errc sent = state_->put({{0, CallKind::kOneWay, 0}, payload, type}, deadline);
  if (sent == Errc::kOk) ++state_->one_ways_sent;
  return sent;
}

// The rest.

WaitSource* Duplex::wait_source() {
  static constexpr EndWait kForArrival = {
      [](ChannelEnd& end, std::size_t) {
        return static_cast<Duplex&>(end).state_->look_for_event();
      },
      [](const ChannelEnd& end) {
        return static_cast<const Duplex&>(end).state_->next_expiry_ns();
      },
      &ChannelWords::empty_waits};
  if (!has_side()) return nullptr;
  side().set_wait(kForArrival, 0);
  return &side();
}

bool Duplex::arm() {
  return has_side() && state_->arm([] { return false; });
}

void Duplex::close() {
  if (has_side()) side().close();
}

DuplexCounters Duplex::duplex_counters() const {
  if (!has_side() || state_->made.in_child()) return {};
  const std::uint64_t sent = state_->one_ways_sent;
  const std::uint64_t taken = load_tally(state_->side.peer().words().taken.value);
  const bool is_possible = taken >= state_->one_ways_taken && taken <= sent;
  return {state_->calls.late_replies(), sent, is_possible ? taken : state_->one_ways_taken};
}

std::uint32_t Duplex::message_bytes_max() const {
  return has_side() ? state_->writer.message_bytes_max() : 0;
}

}  // namespace lapwing
