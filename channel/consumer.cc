#include "lapwing/consumer.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "channel/handshake.h"
#include "channel/side.h"
#include "lapwing/error.h"
#include "lapwing/listener.h"

namespace lapwing {
namespace {

// Separate from copy_out(), whose stack frame it would enlarge.
[[gnu::noinline, gnu::cold]] Result<Received> too_small(ChannelSide& side, Received next,
                                                        std::size_t room) {
  const Errc refused = side.refuse(
      make_error(Errc::kTooSmall,
                 absl::StrCat("the next message has ", next.size, " bytes, but the buffer has ",
                              room, ". The message is kept: receive it into a larger buffer")));
  return {refused, next};
}

}  // namespace

ChannelConsumer::ChannelConsumer(ChannelHandle opened)
    : ChannelEnd(std::move(opened)), reader_(make_reader()) {}

absl::StatusOr<ChannelConsumer> ChannelConsumer::connect(const std::string& path,
                                                         const ChannelOptions& options,
                                                         Deadline deadline) {
  auto side = connect_channel(path, ChannelRole::kConsumer, options, deadline.monotonic_ns());
  if (!side.ok()) return side.status();
  return ChannelConsumer(ChannelHandle(side->release()));
}

absl::StatusOr<ChannelConsumer> ChannelConsumer::accept(ChannelListener& listener,
                                                        const ChannelOptions& options,
                                                        Deadline deadline) {
  auto side = listener.accept(ChannelRole::kConsumer, options, deadline);
  if (!side.ok()) return side.status();
  return ChannelConsumer(ChannelHandle(side->release()));
}

Errc ChannelConsumer::bad_frame(ChannelPosition position) {
  return side().corrupt(absl::StrCat("the frame at position ", position,
                                     " is not one that a producer can have left there"));
}

// Borrows the available messages. Borrows nothing if there are none, or if one is corrupt.
Errc ChannelConsumer::borrow_all(std::span<Message> messages, std::size_t& count) {
  borrowed_ = 0;
  count = 0;
  ChannelPosition from = reader_.position();
  while (count < messages.size()) {
    const Errc seen = look(from, messages[count]);
    if (seen == Errc::kWouldBlock) break;
    if (seen != Errc::kOk) {
      count = 0;
      return seen;
    }
    from = messages[count].end;
    ++count;
  }
  borrowed_ = count;
  if (count < messages.size()) falls_behind_ = is_behind_a_run();
  if (count == 0) return Errc::kWouldBlock;
  borrowed_end_ = from;
  return Errc::kOk;
}

Errc ChannelConsumer::wait_further(Message& message, Deadline deadline) {
  return side().wait_further([&] { return look(reader_.position(), message); },
                             deadline.monotonic_ns());
}

Result<std::size_t> ChannelConsumer::try_peek_batch(std::span<Message> messages) {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  if (messages.empty()) {
    return side().misuse(make_error(
        Errc::kInvalidArgument, "the batch has no room for messages. Give room for at least one"));
  }
  if (std::exchange(falls_behind_, false)) fall_behind();
  std::size_t count = 0;
  const Errc seen = borrow_all(messages, count);
  if (seen != Errc::kWouldBlock) return {seen, count};
  if (std::exchange(falls_behind_, false)) fall_behind();
  return side().nothing_there();
}

Result<std::size_t> ChannelConsumer::peek_batch(std::span<Message> messages, Deadline deadline) {
  const Result<std::size_t> now = try_peek_batch(messages);
  if (now != Errc::kWouldBlock) return now;
  std::size_t count = 0;
  const Errc waited = side().wait_on([&] { return borrow_all(messages, count); },
                                     deadline.monotonic_ns(), words().empty_waits);
  return {waited, count};
}

Errc ChannelConsumer::nothing_borrowed() {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  return side().misuse(make_error(
      Errc::kInvalidArgument, "no message is borrowed: it was already released, or never peeked"));
}

Result<> ChannelConsumer::release(std::span<const Message> batch, std::size_t count) {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  if (count == 0 || count > batch.size() || count > borrowed_ ||
      batch.front().end <= reader_.position() || batch[count - 1].end < batch.front().end ||
      batch[count - 1].end > borrowed_end_) {
    return side().misuse(make_error(
        Errc::kInvalidArgument,
        absl::StrCat(
            "cannot release ", count, " messages: only ", borrowed_,
            " are borrowed. Release each message of the last peek_batch once, from the front")));
  }
  return give_back(batch[count - 1].end, count);
}

Result<Received> ChannelConsumer::copy_out(const Result<Message>& message,
                                           std::span<std::byte> buffer) {
  if (!message.ok()) return message.error();
  // Locals for the size and the type would need two more saved registers.
  if (message->payload.size() > buffer.size()) {
    borrowed_ = 0;
    return too_small(side(), {message->payload.size(), message->type}, buffer.size());
  }
  if (!message->payload.empty()) {
    std::memcpy(buffer.data(), message->payload.data(), message->payload.size());
  }
  give_back(borrowed_end_, 1);
  return Received{message->payload.size(), message->type};
}

Result<Received> ChannelConsumer::try_receive(std::span<std::byte> buffer) {
  return copy_out(try_peek(), buffer);
}

Result<Received> ChannelConsumer::receive(std::span<std::byte> buffer, Deadline deadline) {
  return copy_out(peek(deadline), buffer);
}

WaitSource* ChannelConsumer::wait_source() {
  static constexpr EndWait kForMessage = {[](ChannelEnd& end, std::size_t) {
                                            auto& self = static_cast<ChannelConsumer&>(end);
                                            Message message;
                                            return self.look(self.reader_.position(), message);
                                          },
                                          never_by_time, &ChannelWords::empty_waits};
  if (!has_side()) return nullptr;
  side().set_wait(kForMessage, 0);
  return &side();
}

bool ChannelConsumer::arm() {
  if (enter_to_read() != Errc::kOk || side().end() != Errc::kOk) return false;
  Message message;
  const bool polls = side().prepare_to_poll([&] { return look(reader_.position(), message); });
  if (polls) count_one(words().empty_waits);
  return polls;
}

void ChannelConsumer::close() {
  if (has_side()) side().close();
}

}  // namespace lapwing
