// The sending end of a channel.
//
//   auto producer =
//       lapwing::ChannelProducer::connect("/run/orders.sock", {}, std::chrono::seconds(5));
//   if (!producer.ok()) return fail(producer.status());
//   const auto room = producer->claim(sizeof order);  // lapwing::Result<std::span<std::byte>>
//   if (!room.ok()) return fail(producer->status());
//   std::memcpy(room->data(), &order, sizeof order);
//   if (!producer->commit(sizeof order, kNewOrder).ok()) return fail(producer->status());
//
// Every commit is visible to the consumer at once. Operations make system calls only to wait, to
// wake a sleeping consumer, and now and then to check whether the consumer still exists.
//
// Threads, forks: one thread at a time, any thread; see lapwing/channel.h.
// Errors: see Errc. The next wait or wake-up detects a consumer that has exited or closed its end.
// A check every 1,024 operations, at most once per millisecond, also detects it. Commits do not
// count as operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/channel.h"
#include "lapwing/detail/channel_end.h"
#include "lapwing/detail/frame_writer.h"
#include "lapwing/result.h"
#include "lapwing/sequence.h"

namespace lapwing {

// A message to be copied into the channel.
struct Outgoing {
  std::span<const std::byte> payload;
  std::uint32_t type = 0;
};

class ChannelListener;
class WaitSource;

class ChannelProducer : private ChannelEnd {
 public:
  // Connects to a consumer, or serves one.
  // Errors of connect: kNoBus (nothing is at the path), kPeerGone (no process listens there, or it
  // ended), kNotPermitted (another user listens), kInvalidArgument (the options). Also kTimedOut,
  // kRefused, kAbiMismatch, kProtocol, kNoSpace, kLimit, kUnsupported, kSystem. See
  // lapwing/listener.h for the errors of accept.
  [[nodiscard]] static absl::StatusOr<ChannelProducer> connect(const std::string& path,
                                                               const ChannelOptions& options,
                                                               Deadline deadline);
  [[nodiscard]] static absl::StatusOr<ChannelProducer> accept(ChannelListener& listener,
                                                              const ChannelOptions& options,
                                                              Deadline deadline);

  // Returns room for a message of up to `size` bytes, valid until it is committed or until the next
  // claim, which abandons it. If there is no room, staged messages become visible first, so a full
  // channel never hides a message. kMisuse: `size` is above the maximum.
  Result<std::span<std::byte>> try_claim(std::size_t size);
  Result<std::span<std::byte>> claim(std::size_t size, Deadline deadline = Deadline::never());

  // Sends the first `actual` bytes of the claim, together with all staged messages. kMisuse: there
  // is no claim, or it is smaller.
  Result<> commit(std::size_t actual, std::uint32_t type);
  // Like commit(), but the message stays hidden until the next commit(), commit_staged(), or claim
  // that finds no room. Use it for messages that become visible together, with one wake-up.
  Result<> stage(std::size_t actual, std::uint32_t type);
  Result<> commit_staged();
  // Abandons the claim. kMisuse: there is no claim.
  Result<> abort();

  // Copies a message into the channel.
  Result<> try_send(std::span<const std::byte> payload, std::uint32_t type);
  Result<> send(std::span<const std::byte> payload, std::uint32_t type,
                Deadline deadline = Deadline::never());
  // Sends several messages in order. Returns the number of messages sent, even with an error.
  // Messages that fit at the same time become visible together.
  Result<std::size_t> try_send_batch(std::span<const Outgoing> messages);
  Result<std::size_t> send_batch(std::span<const Outgoing> messages,
                                 Deadline deadline = Deadline::never());

  // Commits all staged messages and waits until the consumer has released everything. Returns kOk
  // even if the consumer released everything and then ended.
  Result<> drain(Deadline deadline = Deadline::never());

  // For an event loop. True: there was no room for `size` bytes, and fd() becomes readable when
  // there may be; then try again. False: try at once. The result is valid until the next operation
  // on this end. Abandons an open claim.
  [[nodiscard]] bool arm(std::size_t size);

  // Ends the channel. The consumer reads everything that was committed, and then gets kClosed.
  // Staged messages that were not committed are never sent. A claim's memory stays valid until the
  // object is destroyed. The destructor does the same. Idempotent.
  void close();

  [[nodiscard]] std::uint32_t message_bytes_max() const { return writer_.message_bytes_max(); }

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
  explicit ChannelProducer(ChannelHandle opened);
  Errc enter_to_claim(std::size_t size);
  Errc look_for_room(std::size_t size);
  Result<std::span<std::byte>> claimed(Errc result) const;
  Errc check_commit(std::size_t actual);
  void publish();
  // The cold paths.
  Errc no_room(FrameWriter::Room room);
  Errc wait_for_room(std::size_t size, Deadline deadline);
  Errc bad_commit(std::size_t actual);
  Result<std::size_t> send_each(std::span<const Outgoing> messages, Deadline deadline, bool waits);
  WaitSource* wait_source(std::size_t bytes);  // null: moved from

  FrameWriter writer_;
};

// The hot path is inline, so that the caller's compiler sees it. The Result of a claim is assembled
// once, at the end. A Result that is copied is kept in memory, and reading it back costs more than
// everything else here.

[[gnu::always_inline]] inline Errc ChannelProducer::look_for_room(std::size_t size) {
  const FrameWriter::Room room = writer_.claim(static_cast<std::uint32_t>(size));
  return room == FrameWriter::Room::kYes ? Errc::kOk : no_room(room);
}

[[gnu::always_inline]] inline Result<std::span<std::byte>> ChannelProducer::claimed(
    Errc result) const {
  if (result != Errc::kOk) [[unlikely]]
    return result;
  return writer_.payload();
}

[[gnu::always_inline]] inline Errc ChannelProducer::enter_to_claim(std::size_t size) {
  if (const Errc entered = enter(); entered != Errc::kOk) [[unlikely]]
    return entered;
  if (size > writer_.message_bytes_max()) [[unlikely]] {
    writer_.abort();
    return too_large(size, writer_.message_bytes_max());
  }
  return look_for_room(size);
}

[[gnu::always_inline]] inline Result<std::span<std::byte>> ChannelProducer::try_claim(
    std::size_t size) {
  return claimed(enter_to_claim(size));
}

[[gnu::always_inline]] inline Result<std::span<std::byte>> ChannelProducer::claim(
    std::size_t size, Deadline deadline) {
  Errc result = enter_to_claim(size);
  if (result == Errc::kWouldBlock) [[unlikely]]
    result = wait_for_room(size, deadline);
  return claimed(result);
}

[[gnu::always_inline]] inline Errc ChannelProducer::check_commit(std::size_t actual) {
  if (!is_open() || !writer_.has_claim_of(actual)) [[unlikely]]
    return bad_commit(actual);
  return Errc::kOk;
}

[[gnu::always_inline]] inline void ChannelProducer::publish() {
  writer_.publish();
  core().wake_peer();
}

[[gnu::always_inline]] inline Result<> ChannelProducer::commit(std::size_t actual,
                                                               std::uint32_t type) {
  if (const Errc fits = check_commit(actual); fits != Errc::kOk) [[unlikely]]
    return fits;
  writer_.commit(static_cast<std::uint32_t>(actual), type);
  core().wake_peer();
  return Errc::kOk;
}

[[gnu::always_inline]] inline Result<> ChannelProducer::stage(std::size_t actual,
                                                              std::uint32_t type) {
  if (const Errc fits = check_commit(actual); fits != Errc::kOk) [[unlikely]]
    return fits;
  writer_.stage(static_cast<std::uint32_t>(actual), type);
  return Errc::kOk;
}

}  // namespace lapwing
