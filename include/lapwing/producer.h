// The sending end of a channel.
//
//   auto producer = lapwing::ChannelProducer::connect("/run/orders.sock", {}, deadline_ns);
//   lapwing::Claim claim = producer->claim(sizeof order);
//   if (claim.result == lapwing::ChannelResult::kOk) {
//     std::memcpy(claim.payload.data(), &order, sizeof order);
//     producer->commit(sizeof order, kNewOrder);
//   }
//
// Every commit is visible to the consumer at once. No operation makes a system call but to wait, to
// wake a consumer that sleeps, and now and then to see whether it is still there.
//
// Thread safety: one thread, the first that uses it; debug builds answer kMisuse to any other.
// Errors: see ChannelResult. A consumer that ended or closed is noticed by the next wait, the next
// wake-up, or every 1,024 operations, though not before a millisecond after the last look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "channel/end.h"
#include "lapwing/channel.h"
#include "lapwing/detail/frame_writer.h"
#include "lapwing/listener.h"

namespace lapwing {

// Room for a message, to be written and committed; valid until then, or until the next claim.
struct Claim {
  ChannelResult result = ChannelResult::kOk;
  std::span<std::byte> payload;
};

// A message to be copied into the channel.
struct Outgoing {
  std::span<const std::byte> payload;
  std::uint32_t type = 0;
};

// How many messages of a batch were sent, and what stopped the others.
struct SentBatch {
  ChannelResult result = ChannelResult::kOk;
  std::size_t count = 0;
};

class ChannelProducer : public ChannelEnd {
 public:
  // Connects to, or serves, a consumer. Errors: see connect_channel and ChannelListener::accept.
  static absl::StatusOr<ChannelProducer> connect(const std::string& path,
                                                 const ChannelOptions& options,
                                                 std::uint64_t deadline_ns);
  static absl::StatusOr<ChannelProducer> accept(ChannelListener& listener,
                                                const ChannelOptions& options,
                                                std::uint64_t deadline_ns);
  // Of a session that was opened in this role.
  explicit ChannelProducer(std::unique_ptr<ChannelSession> opened);

  // Room for a message of up to `size` bytes. A claim that was not committed is given up. If there
  // is no room, what is staged becomes visible first, so a full channel never hides a message.
  // kMisuse: `size` is above the maximum.
  Claim try_claim(std::size_t size);
  Claim claim(std::size_t size, std::uint64_t deadline_ns = kNoDeadline);

  // Sends the first `actual` bytes of the claim, and with it whatever is staged. kMisuse: there is
  // no claim, or it is smaller.
  ChannelResult commit(std::size_t actual, std::uint32_t type);
  // As commit(), but the message stays hidden until the next commit(), commit_staged(), or claim
  // that finds no room: messages that are to be seen together, and cost one wake-up.
  ChannelResult stage(std::size_t actual, std::uint32_t type);
  ChannelResult commit_staged();
  // Gives the claim up. kMisuse: there is none.
  ChannelResult abort();

  // Copies a message into the channel.
  ChannelResult try_send(std::span<const std::byte> payload, std::uint32_t type);
  ChannelResult send(std::span<const std::byte> payload, std::uint32_t type,
                     std::uint64_t deadline_ns = kNoDeadline);
  // The same for many, in order; those that fit at a time become visible together.
  SentBatch try_send_batch(std::span<const Outgoing> messages);
  SentBatch send_batch(std::span<const Outgoing> messages, std::uint64_t deadline_ns = kNoDeadline);

  // Commits what is staged and waits until the consumer has released everything. kOk also where it
  // had done so before it ended.
  ChannelResult drain(std::uint64_t deadline_ns = kNoDeadline);

  // For an event loop. True: there was no room for `size` bytes, and fd() becomes readable when
  // there may be; then try again. False: try at once.
  // To be called right before every poll, with no other operation of this end in between: one
  // might take the packet that the poll is to wait for.
  bool prepare_to_poll(std::size_t size);

  // Ends the channel; the consumer reads what was committed, and is then told. What is only staged
  // is never sent. A claim's memory stays valid until the object goes. Idempotent.
  void close();

  std::uint32_t message_bytes_max() const { return writer_.message_bytes_max(); }

 private:
  ChannelResult enter_to_claim(std::size_t size);
  ChannelResult look_for_room(std::size_t size);
  Claim claimed(ChannelResult result) const;
  ChannelResult check_commit(std::size_t actual);
  void publish();
  // What is rarer.
  ChannelResult no_room(FrameWriter::Room room);
  ChannelResult wait_for_room(std::size_t size, std::uint64_t deadline_ns);
  ChannelResult bad_commit(std::size_t actual);
  SentBatch send_each(std::span<const Outgoing> messages, std::uint64_t deadline_ns, bool waits);

  FrameWriter writer_;
};

// The hot path, for the caller's compiler to see. A Claim is put together once, at the end: one
// that is copied lives in memory, and reading it back costs more than all else here.

[[gnu::always_inline]] inline ChannelResult ChannelProducer::look_for_room(std::size_t size) {
  const FrameWriter::Room room = writer_.claim(static_cast<std::uint32_t>(size));
  return room == FrameWriter::Room::kYes ? ChannelResult::kOk : no_room(room);
}

[[gnu::always_inline]] inline Claim ChannelProducer::claimed(ChannelResult result) const {
  if (result != ChannelResult::kOk) [[unlikely]]
    return {result, {}};
  return {result, writer_.payload()};
}

[[gnu::always_inline]] inline ChannelResult ChannelProducer::enter_to_claim(std::size_t size) {
  if (const ChannelResult entered = enter(); entered != ChannelResult::kOk) [[unlikely]]
    return entered;
  writer_.abort();
  if (size > writer_.message_bytes_max()) [[unlikely]]
    return too_large(size, writer_.message_bytes_max());
  return look_for_room(size);
}

[[gnu::always_inline]] inline Claim ChannelProducer::try_claim(std::size_t size) {
  return claimed(enter_to_claim(size));
}

[[gnu::always_inline]] inline Claim ChannelProducer::claim(std::size_t size,
                                                           std::uint64_t deadline_ns) {
  ChannelResult result = enter_to_claim(size);
  if (result == ChannelResult::kWouldBlock) [[unlikely]]
    result = wait_for_room(size, deadline_ns);
  return claimed(result);
}

[[gnu::always_inline]] inline ChannelResult ChannelProducer::check_commit(std::size_t actual) {
  if (const ChannelResult entered = enter(); entered != ChannelResult::kOk) [[unlikely]]
    return entered;
  if (!writer_.has_claim() || actual > writer_.claim_bytes()) [[unlikely]]
    return bad_commit(actual);
  return ChannelResult::kOk;
}

[[gnu::always_inline]] inline void ChannelProducer::publish() {
  writer_.publish();
  session().wake_peer();
}

[[gnu::always_inline]] inline ChannelResult ChannelProducer::commit(std::size_t actual,
                                                                    std::uint32_t type) {
  if (const ChannelResult fits = check_commit(actual); fits != ChannelResult::kOk) [[unlikely]]
    return fits;
  writer_.stage(static_cast<std::uint32_t>(actual), type);
  publish();
  return ChannelResult::kOk;
}

[[gnu::always_inline]] inline ChannelResult ChannelProducer::stage(std::size_t actual,
                                                                   std::uint32_t type) {
  if (const ChannelResult fits = check_commit(actual); fits != ChannelResult::kOk) [[unlikely]]
    return fits;
  writer_.stage(static_cast<std::uint32_t>(actual), type);
  return ChannelResult::kOk;
}

}  // namespace lapwing
