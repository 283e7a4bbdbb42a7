// The receiving end of a channel.
//
//   auto consumer = lapwing::ChannelConsumer::connect("/run/orders.sock", {}, deadline_ns);
//   for (;;) {
//     const lapwing::Peek peek = consumer->peek();
//     if (peek.result != lapwing::ChannelResult::kOk) return fail(consumer->status());
//     handle(peek.message.type, peek.message.payload);  // in place: no copy
//     consumer->release();
//   }
//
// A borrowed payload lies in the producer's memory, which a hostile producer can change while it is
// read: whoever must validate what an untrusted process sends uses receive(), which copies.
//
// Thread safety: one thread, the first that uses it; debug builds answer kMisuse to any other.
// Errors: see ChannelResult. After the producer has closed or died, everything it had committed is
// still read first; then comes kClosed or kPeerGone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "channel/end.h"
#include "lapwing/channel.h"
#include "lapwing/detail/frame_reader.h"
#include "lapwing/listener.h"

namespace lapwing {

// A borrowed message, valid until it is released or the consumer goes.
struct Peek {
  ChannelResult result = ChannelResult::kOk;
  Message message;
};

// How many messages were borrowed. If the result is not kOk there are none.
struct PeekBatch {
  ChannelResult result = ChannelResult::kOk;
  std::size_t count = 0;
};

// A message that was copied out: its bytes are at the front of the buffer.
struct Received {
  ChannelResult result = ChannelResult::kOk;
  std::size_t size = 0;
  std::uint32_t type = 0;
};

class ChannelConsumer : public ChannelEnd {
 public:
  // Connects to, or serves, a producer, whose options say capacity and largest message. Errors: see
  // connect_channel and ChannelListener::accept.
  static absl::StatusOr<ChannelConsumer> connect(const std::string& path,
                                                 const ChannelOptions& options,
                                                 std::uint64_t deadline_ns);
  static absl::StatusOr<ChannelConsumer> accept(ChannelListener& listener,
                                                const ChannelOptions& options,
                                                std::uint64_t deadline_ns);
  // Of a session that was opened in this role.
  explicit ChannelConsumer(std::unique_ptr<ChannelSession> opened);

  // Borrows the first message that is not released. Peeking again borrows the same one.
  Peek try_peek();
  Peek peek(std::uint64_t deadline_ns = kNoDeadline);
  // Borrows as many as are there, at most messages.size(), from the first not released on; waits
  // until there is one.
  PeekBatch try_peek_batch(std::span<Message> messages);
  PeekBatch peek_batch(std::span<Message> messages, std::uint64_t deadline_ns = kNoDeadline);

  // Gives back everything that the last peek borrowed. kMisuse: nothing is borrowed, as after a
  // release.
  ChannelResult release();
  // Gives back the first `count` messages of the last peek_batch. kMisuse: there were fewer.
  ChannelResult release(std::span<const Message> batch, std::size_t count);

  // Copies the next message out and releases it. kMisuse: it is larger than `buffer`; it stays.
  Received try_receive(std::span<std::byte> buffer);
  Received receive(std::span<std::byte> buffer, std::uint64_t deadline_ns = kNoDeadline);

  // For an event loop. True: there is no message, and fd() becomes readable when there may be one;
  // then try again. False: try at once.
  // To be called right before every poll, with no other operation of this end in between: one
  // might take the packet that the poll is to wait for.
  bool prepare_to_poll();

  // Ends the channel; the producer is told. What is borrowed stays valid until the object goes.
  // Idempotent.
  void close();

  std::uint32_t message_bytes_max() const { return reader_.message_bytes_max(); }

 private:
  ChannelResult look(ChannelPosition from, Message& message);
  ChannelResult look_first(Message& message);
  ChannelResult wait_for_message(Message& message, std::uint64_t deadline_ns);
  Peek borrow(ChannelResult seen, const Message& message);
  ChannelResult give_back(ChannelPosition end, std::uint64_t count);
  // What is rarer.
  ChannelResult wait_further(Message& message, std::uint64_t deadline_ns);
  ChannelResult bad_frame(ChannelPosition position);
  ChannelResult nothing_borrowed();
  ChannelResult borrow_all(std::span<Message> messages, std::size_t& count);
  Received copy_out(const Peek& peek, std::span<std::byte> buffer);

  FrameReader reader_;
  ChannelPosition borrowed_end_ = 0;  // of the last message that is borrowed
  std::uint64_t borrowed_ = 0;        // messages
};

// The hot path, for the caller's compiler to see. A Peek is put together once, at the end, and no
// call is given the address of what goes into it: a message that is copied, or that a call could
// write, lives in memory, and reading it back costs more than all else here.

[[gnu::always_inline]] inline ChannelResult ChannelConsumer::look(ChannelPosition from,
                                                                  Message& message) {
  const FrameReader::Look seen = reader_.look(from, message);
  if (seen == FrameReader::Look::kMessage) [[likely]]
    return ChannelResult::kOk;
  return seen == FrameReader::Look::kEmpty ? ChannelResult::kWouldBlock : bad_frame(from);
}

[[gnu::always_inline]] inline Peek ChannelConsumer::borrow(ChannelResult seen,
                                                           const Message& message) {
  borrowed_ = seen == ChannelResult::kOk ? 1 : 0;
  borrowed_end_ = message.end;
  return {seen, message};
}

[[gnu::always_inline]] inline ChannelResult ChannelConsumer::look_first(Message& message) {
  const ChannelResult seen = look(reader_.position(), message);
  return seen == ChannelResult::kWouldBlock ? session().nothing_there() : seen;
}

[[gnu::always_inline]] inline ChannelResult ChannelConsumer::wait_for_message(
    Message& message, std::uint64_t deadline_ns) {
  const ChannelResult soon =
      session().spin_first([&] { return look(reader_.position(), message); }, words().empty_waits);
  if (soon != ChannelResult::kWouldBlock) [[likely]]
    return soon;
  Message late;
  const ChannelResult seen = wait_further(late, deadline_ns);
  message = late;
  return seen;
}

[[gnu::always_inline]] inline Peek ChannelConsumer::try_peek() {
  if (const ChannelResult entered = enter_to_read(); entered != ChannelResult::kOk) [[unlikely]]
    return {entered, {}};
  Message message;
  const ChannelResult seen = look_first(message);
  return borrow(seen, message);
}

[[gnu::always_inline]] inline Peek ChannelConsumer::peek(std::uint64_t deadline_ns) {
  if (const ChannelResult entered = enter_to_read(); entered != ChannelResult::kOk) [[unlikely]]
    return {entered, {}};
  Message message;
  ChannelResult seen = look_first(message);
  if (seen == ChannelResult::kWouldBlock) seen = wait_for_message(message, deadline_ns);
  return borrow(seen, message);
}

[[gnu::always_inline]] inline ChannelResult ChannelConsumer::give_back(ChannelPosition end,
                                                                       std::uint64_t count) {
  reader_.release(end, count);
  borrowed_ -= count;
  session().wake_peer();
  return ChannelResult::kOk;
}

[[gnu::always_inline]] inline ChannelResult ChannelConsumer::release() {
  if (const ChannelResult entered = enter_to_read(); entered != ChannelResult::kOk) [[unlikely]]
    return entered;
  if (borrowed_ == 0) [[unlikely]]
    return nothing_borrowed();
  return give_back(borrowed_end_, borrowed_);
}

}  // namespace lapwing
