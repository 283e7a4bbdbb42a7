#include "lapwing/consumer.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "channel/channel_access.h"
#include "channel/handshake.h"
#include "channel/listener_core.h"
#include "channel/side.h"
#include "lapwing/error.h"
#include "lapwing/listener.h"

namespace lapwing {
namespace {

// Apart from copy_out(), whose frame it would enlarge.
[[gnu::noinline, gnu::cold]] Errc too_small(ChannelSide& side, std::size_t size, std::size_t room) {
  return side.refuse(make_error(
      Errc::kTooSmall, absl::StrCat("the next message has ", size, " bytes and the buffer ", room,
                                    "; receive it into a larger one, it is still there")));
}

}  // namespace

ChannelConsumer::ChannelConsumer(ChannelHandle opened)
    : ChannelEnd(std::move(opened)), reader_(make_reader()) {}

absl::StatusOr<ChannelConsumer> ChannelConsumer::connect(const std::string& path,
                                                         const ChannelOptions& options,
                                                         Deadline deadline) {
  return ChannelAccess::end_of<ChannelConsumer>(
      connect_channel(path, ChannelRole::kConsumer, options, deadline.monotonic_ns()));
}

absl::StatusOr<ChannelConsumer> ChannelConsumer::accept(ChannelListener& listener,
                                                        const ChannelOptions& options,
                                                        Deadline deadline) {
  ListenerCore& core = ChannelAccess::core_of(listener);
  return ChannelAccess::end_of<ChannelConsumer>(
      core.accept(ChannelRole::kConsumer, options, deadline));
}

Errc ChannelConsumer::bad_frame(ChannelPosition position) {
  return side().corrupt(absl::StrCat("the frame at position ", position,
                                     " is none that a producer can have left there"));
}

// Borrows what is there; nothing is borrowed if there is nothing, or something corrupt among it.
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

PeekBatch ChannelConsumer::try_peek_batch(std::span<Message> messages) {
  PeekBatch batch;
  if (batch.result = enter_to_read(); batch.result != Errc::kOk) return batch;
  if (messages.empty()) {
    batch.result = side().misuse(
        make_error(Errc::kInvalidArgument, "a batch of no messages; give room for one at least"));
    return batch;
  }
  if (std::exchange(falls_behind_, false)) fall_behind();
  batch.result = borrow_all(messages, batch.count);
  if (batch.result == Errc::kWouldBlock) {
    if (std::exchange(falls_behind_, false)) fall_behind();
    batch.result = side().nothing_there();
  }
  return batch;
}

PeekBatch ChannelConsumer::peek_batch(std::span<Message> messages, Deadline deadline) {
  PeekBatch batch = try_peek_batch(messages);
  if (batch.result != Errc::kWouldBlock) return batch;
  batch.result = side().wait_on([&] { return borrow_all(messages, batch.count); },
                                deadline.monotonic_ns(), words().empty_waits);
  return batch;
}

Errc ChannelConsumer::nothing_borrowed() {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  return side().misuse(make_error(Errc::kInvalidArgument,
                                  "nothing is borrowed: it was released already, or never "
                                  "peeked"));
}

Errc ChannelConsumer::release(std::span<const Message> batch, std::size_t count) {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  if (count == 0 || count > batch.size() || count > borrowed_ ||
      batch.front().end <= reader_.position() || batch[count - 1].end < batch.front().end ||
      batch[count - 1].end > borrowed_end_) {
    return side().misuse(make_error(
        Errc::kInvalidArgument,
        absl::StrCat("a release of ", count, " messages, of which ", borrowed_,
                     " are borrowed; release each message of the last peek_batch once, from its "
                     "front")));
  }
  return give_back(batch[count - 1].end, count);
}

Received ChannelConsumer::copy_out(const Peek& peek, std::span<std::byte> buffer) {
  Received received;
  received.result = peek.result;
  if (peek.result != Errc::kOk) return received;
  received.size = peek.message.payload.size();
  received.type = peek.message.type;
  if (received.size > buffer.size()) {
    borrowed_ = 0;
    received.result = too_small(side(), received.size, buffer.size());
    return received;
  }
  if (received.size != 0) {
    std::memcpy(buffer.data(), peek.message.payload.data(), received.size);
  }
  give_back(borrowed_end_, 1);
  return received;
}

Received ChannelConsumer::try_receive(std::span<std::byte> buffer) {
  return copy_out(try_peek(), buffer);
}

Received ChannelConsumer::receive(std::span<std::byte> buffer, Deadline deadline) {
  return copy_out(peek(deadline), buffer);
}

WaitSource* ChannelAccess::wait_source(ChannelConsumer& consumer) {
  static constexpr EndWait kForMessage = {[](ChannelEnd& end, std::size_t) {
                                            auto& self = static_cast<ChannelConsumer&>(end);
                                            Message message;
                                            return self.look(self.reader_.position(), message);
                                          },
                                          never_by_time, &ChannelWords::empty_waits};
  if (!consumer.has_side()) return nullptr;
  consumer.side().set_wait(kForMessage, 0);
  return &consumer.side();
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
