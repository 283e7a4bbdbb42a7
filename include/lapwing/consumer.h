// The receiving end of a channel.
//
//   auto consumer =
//       lapwing::ChannelConsumer::connect("/run/orders.sock", {}, std::chrono::seconds(5));
//   if (!consumer.ok()) return fail(consumer.status());
//   for (;;) {
//     const lapwing::Result<lapwing::Message> message = consumer->peek();
//     if (!message.ok()) return fail(consumer->status());
//     handle(message->type, message->payload);  // in place: no copy
//     if (!consumer->release().ok()) return fail(consumer->status());
//   }
//
// A borrowed payload is in the producer's memory, which a hostile producer can change while it is
// read. To validate data from an untrusted process, use receive(), which copies it.
//
// If a consumer finds no message after it has taken 16, it waits about a microsecond before the
// call returns. Reading the cache line that a busy producer is about to write slows down both
// sides.
//
// Threads, forks: one thread at a time, any thread; see lapwing/channel.h.
// Errors: see Errc. After the producer has closed or died, the consumer still reads everything that
// was committed. Then its calls return kClosed or kPeerGone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/channel.h"
#include "lapwing/detail/channel_end.h"
#include "lapwing/detail/frame_reader.h"
#include "lapwing/result.h"
#include "lapwing/sequence.h"

namespace lapwing {

// A message that was copied out: its bytes are at the front of the buffer.
struct Received {
  std::size_t size = 0;
  std::uint32_t type = 0;
};

class ChannelListener;
class WaitSource;

class ChannelConsumer : private ChannelEnd {
 public:
  // Connects to a producer, or serves one. The producer's options set the capacity and the largest
  // message.
  // Errors of connect: kNoBus (nothing is at the path), kPeerGone (no process listens there, or it
  // ended), kNotPermitted (another user listens), kInvalidArgument (the options). Also kTimedOut,
  // kRefused, kAbiMismatch, kProtocol, kNoSpace, kLimit, kUnsupported, kSystem. See
  // lapwing/listener.h for the errors of accept.
  [[nodiscard]] static absl::StatusOr<ChannelConsumer> connect(const std::string& path,
                                                               const ChannelOptions& options,
                                                               Deadline deadline);
  [[nodiscard]] static absl::StatusOr<ChannelConsumer> accept(ChannelListener& listener,
                                                              const ChannelOptions& options,
                                                              Deadline deadline);

  // Borrows the first unreleased message. A second peek borrows the same one.
  Result<Message> try_peek();
  Result<Message> peek(Deadline deadline = Deadline::never());
  // Borrows the available messages, at most messages.size(), starting with the first unreleased
  // one. Waits until there is one. Returns the number of messages.
  Result<std::size_t> try_peek_batch(std::span<Message> messages);
  Result<std::size_t> peek_batch(std::span<Message> messages,
                                 Deadline deadline = Deadline::never());

  // Releases everything that the last peek borrowed. kMisuse: nothing is borrowed, for example
  // after a release.
  Result<> release();
  // Releases the first `count` messages of the last peek_batch. kMisuse: there were fewer.
  Result<> release(std::span<const Message> batch, std::size_t count);

  // Copies the next message out and releases it. kTooSmall: the message is larger than `buffer` and
  // is not taken; the result still contains its size and type.
  Result<Received> try_receive(std::span<std::byte> buffer);
  Result<Received> receive(std::span<std::byte> buffer, Deadline deadline = Deadline::never());

  // For an event loop. True: there is no message, and fd() becomes readable when there may be one.
  // False: try at once. The result is valid until the next operation on this end.
  [[nodiscard]] bool arm();

  // Ends the channel and notifies the producer at once. Borrowed messages stay valid until the
  // object is destroyed. The destructor does the same. Idempotent.
  void close();

  // The largest message that the producer can send.
  [[nodiscard]] std::uint32_t message_bytes_max() const { return reader_.message_bytes_max(); }

  // For an event loop, together with arm(); -1 once closed.
  [[nodiscard]] int fd() const { return ChannelEnd::fd(); }
  // The error of the last operation that failed. kWouldBlock, kTimedOut and kInterrupted do not
  // count as failures.
  [[nodiscard]] const absl::Status& status() const { return ChannelEnd::status(); }
  [[nodiscard]] ChannelCounters counters() const { return ChannelEnd::counters(); }
  // The same at both ends, and different for each connection.
  [[nodiscard]] Id128 connection_id() const { return ChannelEnd::connection_id(); }
  // Ends the wait that is under way, or else the next one, with kInterrupted. Safe from any thread
  // and from a signal handler.
  void interrupt() noexcept { ChannelEnd::interrupt(); }

 private:
  friend class WaitSet;
  explicit ChannelConsumer(ChannelHandle opened);
  Errc look(ChannelPosition from, Message& message);
  Errc look_first(Message& message);
  bool is_behind_a_run();
  Errc wait_for_message(Message& message, Deadline deadline);
  Result<Message> borrow(Errc seen, const Message& message);
  Errc give_back(ChannelPosition end, std::uint64_t count);
  // The cold paths.
  Errc wait_further(Message& message, Deadline deadline);
  Errc bad_frame(ChannelPosition position);
  Errc nothing_borrowed();
  Errc borrow_all(std::span<Message> messages, std::size_t& count);
  Result<Received> copy_out(const Result<Message>& message, std::span<std::byte> buffer);
  WaitSource* wait_source();  // null: moved from

  FrameReader reader_;
  ChannelPosition borrowed_end_ = 0;  // of the last borrowed message
  std::uint64_t borrowed_ = 0;        // messages
  std::uint64_t caught_up_at_ = 0;    // messages taken when a poll last found none
  bool falls_behind_ = false;         // peek_batch() first lets the producer get ahead
};

// The hot path is inline, so that the caller's compiler sees it. A Result is assembled once, at the
// end, and no call gets the address of its parts. A message that is copied, or that a call could
// write, is kept in memory. Reading it back costs more than everything else here.

[[gnu::always_inline]] inline Errc ChannelConsumer::look(ChannelPosition from, Message& message) {
  const FrameReader::Look seen = reader_.look(from, message);
  if (seen == FrameReader::Look::kMessage) [[likely]]
    return Errc::kOk;
  return seen == FrameReader::Look::kEmpty ? Errc::kWouldBlock : bad_frame(from);
}

[[gnu::always_inline]] inline Result<Message> ChannelConsumer::borrow(Errc seen,
                                                                      const Message& message) {
  borrowed_ = seen == Errc::kOk ? 1 : 0;
  borrowed_end_ = message.end;
  return {seen, message};
}

// Called after a poll that found nothing. Returns whether a run of messages was taken since the
// last such poll.
inline bool ChannelConsumer::is_behind_a_run() {
  const std::uint64_t taken = reader_.messages() + borrowed_;
  const bool was_run = taken - caught_up_at_ >= kRunMin;
  caught_up_at_ = taken;
  return was_run;
}

[[gnu::always_inline]] inline Errc ChannelConsumer::look_first(Message& message) {
  const Errc seen = look(reader_.position(), message);
  if (seen != Errc::kWouldBlock) [[likely]]
    return seen;
  if (is_behind_a_run()) fall_behind();
  return core().nothing_there();
}

[[gnu::always_inline]] inline Errc ChannelConsumer::wait_for_message(Message& message,
                                                                     Deadline deadline) {
  const Errc soon =
      core().spin_first([&] { return look(reader_.position(), message); }, words().empty_waits);
  if (soon != Errc::kWouldBlock) [[likely]]
    return soon;
  borrowed_ = 0;  // otherwise a concurrent release() (misuse) would go unnoticed
  Message late;
  const Errc seen = wait_further(late, deadline);
  message = late;
  return seen;
}

[[gnu::always_inline]] inline Result<Message> ChannelConsumer::try_peek() {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) [[unlikely]]
    return entered;
  Message message;
  const Errc seen = look_first(message);
  return borrow(seen, message);
}

[[gnu::always_inline]] inline Result<Message> ChannelConsumer::peek(Deadline deadline) {
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) [[unlikely]]
    return entered;
  Message message;
  Errc seen = look_first(message);
  if (seen == Errc::kWouldBlock) seen = wait_for_message(message, deadline);
  return borrow(seen, message);
}

[[gnu::always_inline]] inline Errc ChannelConsumer::give_back(ChannelPosition end,
                                                              std::uint64_t count) {
  reader_.release(end, count);
  borrowed_ -= count;
  core().wake_peer();
  return Errc::kOk;
}

[[gnu::always_inline]] inline Result<> ChannelConsumer::release() {
  if (!is_open()) [[unlikely]] {
    if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  }
  if (borrowed_ == 0) [[unlikely]]
    return nothing_borrowed();
  return give_back(borrowed_end_, borrowed_);
}

}  // namespace lapwing
