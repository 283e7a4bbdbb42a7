#include "lapwing/producer.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "channel/handshake.h"
#include "channel/side.h"
#include "lapwing/error.h"
#include "lapwing/listener.h"

namespace lapwing {

ChannelProducer::ChannelProducer(ChannelHandle opened)
    : ChannelEnd(std::move(opened)), writer_(make_writer()) {}

absl::StatusOr<ChannelProducer> ChannelProducer::connect(const std::string& path,
                                                         const ChannelOptions& options,
                                                         Deadline deadline) {
  auto side = connect_channel(path, ChannelRole::kProducer, options, deadline.monotonic_ns());
  if (!side.ok()) return side.status();
  return ChannelProducer(ChannelHandle(side->release()));
}

absl::StatusOr<ChannelProducer> ChannelProducer::accept(ChannelListener& listener,
                                                        const ChannelOptions& options,
                                                        Deadline deadline) {
  auto side = listener.accept(ChannelRole::kProducer, options, deadline);
  if (!side.ok()) return side.status();
  return ChannelProducer(ChannelHandle(side->release()));
}

Errc ChannelProducer::no_room(FrameWriter::Room room) {
  if (room == FrameWriter::Room::kFull && writer_.has_staged()) publish();
  writer_.abort();
  return room == FrameWriter::Room::kFull ? Errc::kWouldBlock : side().released_too_much(writer_);
}

Errc ChannelProducer::wait_for_room(std::size_t size, Deadline deadline) {
  side().let_consumer_ahead(writer_.messages());
  return side().wait_on([&] { return look_for_room(size); }, deadline.monotonic_ns(),
                        words().full_waits);
}

Errc ChannelProducer::bad_commit(std::size_t actual) {
  if (const Errc entered = enter(); entered != Errc::kOk) return entered;
  if (!writer_.has_claim()) {
    return side().misuse(make_error(
        Errc::kInvalidArgument,
        "there is no claim: it was never made, or was committed or aborted. Claim first"));
  }
  return side().misuse(make_error(Errc::kInvalidArgument,
                                  absl::StrCat("cannot commit ", actual, " bytes into a claim of ",
                                               writer_.claim_bytes(), ". Claim as much first")));
}

Result<> ChannelProducer::commit_staged() {
  if (const Errc entered = enter(); entered != Errc::kOk) return entered;
  if (writer_.has_staged()) publish();
  return Errc::kOk;
}

Result<> ChannelProducer::abort() {
  if (const Errc entered = enter(); entered != Errc::kOk) return entered;
  if (!writer_.has_claim()) {
    return side().misuse(make_error(Errc::kInvalidArgument, "there is no claim to abort"));
  }
  writer_.abort();
  return Errc::kOk;
}

Result<> ChannelProducer::try_send(std::span<const std::byte> payload, std::uint32_t type) {
  const Result<std::span<std::byte>> room = try_claim(payload.size());
  if (!room.ok()) return room.error();
  if (!payload.empty()) std::memcpy(room->data(), payload.data(), payload.size());
  return commit(payload.size(), type);
}

Result<> ChannelProducer::send(std::span<const std::byte> payload, std::uint32_t type,
                               Deadline deadline) {
  const Result<std::span<std::byte>> room = claim(payload.size(), deadline);
  if (!room.ok()) return room.error();
  if (!payload.empty()) std::memcpy(room->data(), payload.data(), payload.size());
  return commit(payload.size(), type);
}

Result<std::size_t> ChannelProducer::send_each(std::span<const Outgoing> messages,
                                               Deadline deadline, bool waits) {
  if (has_side() && side().in_child()) return Errc::kForked;
  Errc stopped = Errc::kOk;
  std::size_t sent = 0;
  for (const Outgoing& message : messages) {
    const std::size_t size = message.payload.size();
    const Result<std::span<std::byte>> room = waits ? claim(size, deadline) : try_claim(size);
    stopped = room.error();
    if (!room.ok()) break;
    if (size != 0) std::memcpy(room->data(), message.payload.data(), size);
    writer_.stage(static_cast<std::uint32_t>(size), message.type);
    ++sent;
  }
  if (has_side() && side().end() == Errc::kOk && writer_.has_staged()) {
    publish();
  }
  return {stopped, sent};
}

Result<std::size_t> ChannelProducer::try_send_batch(std::span<const Outgoing> messages) {
  return send_each(messages, Deadline::now(), false);
}

Result<std::size_t> ChannelProducer::send_batch(std::span<const Outgoing> messages,
                                                Deadline deadline) {
  return send_each(messages, deadline, true);
}

Result<> ChannelProducer::drain(Deadline deadline) {
  // A consumer that has ended may have released everything before it ended.
  if (const Errc entered = enter_to_read(); entered != Errc::kOk) return entered;
  if (side().end() == Errc::kOk && writer_.has_staged()) publish();
  // A commit() in another thread during the wait is misuse, and must not find a claim.
  const std::uint32_t claim = writer_.put_claim_aside();
  const Errc drained = side().wait(
      [&] {
        switch (writer_.look_whether_drained()) {
          case FrameWriter::Room::kYes:
            return writer_.has_staged() ? Errc::kWouldBlock : Errc::kOk;
          case FrameWriter::Room::kFull:
            return Errc::kWouldBlock;
          case FrameWriter::Room::kCorrupt:
            break;
        }
        return side().released_too_much(writer_);
      },
      deadline.monotonic_ns(), words().full_waits);
  writer_.take_claim_up(claim);
  return drained;
}

WaitSource* ChannelProducer::wait_source(std::size_t bytes) {
  static constexpr EndWait kForRoom = {[](ChannelEnd& end, std::size_t size) {
                                         auto& self = static_cast<ChannelProducer&>(end);
                                         const Errc room = self.look_for_room(size);
                                         self.writer_.abort();
                                         return room;
                                       },
                                       never_by_time, &ChannelWords::full_waits};
  if (!has_side()) return nullptr;
  side().set_wait(kForRoom, bytes);
  return &side();
}

bool ChannelProducer::arm(std::size_t size) {
  if (enter() != Errc::kOk || size > writer_.message_bytes_max()) return false;
  const bool polls = side().prepare_to_poll([&] { return look_for_room(size); });
  writer_.abort();
  if (polls) count_one(words().full_waits);
  return polls;
}

void ChannelProducer::close() {
  if (has_side()) side().close();
}

}  // namespace lapwing
