#include "lapwing/producer.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {

ChannelProducer::ChannelProducer(std::unique_ptr<ChannelSession> opened)
    : ChannelEnd(std::move(opened)), writer_(make_writer()) {}

absl::StatusOr<ChannelProducer> ChannelProducer::connect(const std::string& path,
                                                         const ChannelOptions& options,
                                                         std::uint64_t deadline_ns) {
  return end_of<ChannelProducer>(
      connect_channel(path, ChannelRole::kProducer, options, deadline_ns));
}

absl::StatusOr<ChannelProducer> ChannelProducer::accept(ChannelListener& listener,
                                                        const ChannelOptions& options,
                                                        std::uint64_t deadline_ns) {
  return end_of<ChannelProducer>(listener.accept(ChannelRole::kProducer, options, deadline_ns));
}

ChannelResult ChannelProducer::no_room(FrameWriter::Room room) {
  if (room == FrameWriter::Room::kCorrupt) return released_too_much(writer_);
  if (writer_.has_staged()) publish();
  return ChannelResult::kWouldBlock;
}

ChannelResult ChannelProducer::wait_for_room(std::size_t size, std::uint64_t deadline_ns) {
  return session().wait_on([&] { return look_for_room(size); }, deadline_ns, words().full_waits);
}

ChannelResult ChannelProducer::bad_commit(std::size_t actual) {
  if (!writer_.has_claim()) {
    return session().misuse(make_error(Errc::kInvalidArgument,
                                       "there is no claim: it was never made, has been committed "
                                       "or given up; claim first"));
  }
  return session().misuse(make_error(Errc::kInvalidArgument,
                                     absl::StrCat("a commit of ", actual, " bytes into a claim of ",
                                                  writer_.claim_bytes(), "; claim as much first")));
}

ChannelResult ChannelProducer::commit_staged() {
  if (const ChannelResult entered = enter(); entered != ChannelResult::kOk) return entered;
  if (writer_.has_staged()) publish();
  return ChannelResult::kOk;
}

ChannelResult ChannelProducer::abort() {
  if (const ChannelResult entered = enter(); entered != ChannelResult::kOk) return entered;
  if (!writer_.has_claim()) {
    return session().misuse(
        make_error(Errc::kInvalidArgument, "there is no claim that could be given up"));
  }
  writer_.abort();
  return ChannelResult::kOk;
}

ChannelResult ChannelProducer::try_send(std::span<const std::byte> payload, std::uint32_t type) {
  const Claim room = try_claim(payload.size());
  if (room.result != ChannelResult::kOk) return room.result;
  if (!payload.empty()) std::memcpy(room.payload.data(), payload.data(), payload.size());
  return commit(payload.size(), type);
}

ChannelResult ChannelProducer::send(std::span<const std::byte> payload, std::uint32_t type,
                                    std::uint64_t deadline_ns) {
  const Claim room = claim(payload.size(), deadline_ns);
  if (room.result != ChannelResult::kOk) return room.result;
  if (!payload.empty()) std::memcpy(room.payload.data(), payload.data(), payload.size());
  return commit(payload.size(), type);
}

SentBatch ChannelProducer::send_each(std::span<const Outgoing> messages, std::uint64_t deadline_ns,
                                     bool waits) {
  SentBatch sent;
  for (const Outgoing& message : messages) {
    const std::size_t size = message.payload.size();
    const Claim room = waits ? claim(size, deadline_ns) : try_claim(size);
    sent.result = room.result;
    if (room.result != ChannelResult::kOk) break;
    if (size != 0) std::memcpy(room.payload.data(), message.payload.data(), size);
    writer_.stage(static_cast<std::uint32_t>(size), message.type);
    ++sent.count;
  }
  if (has_session() && session().end() == ChannelResult::kOk && writer_.has_staged()) {
    publish();
  }
  return sent;
}

SentBatch ChannelProducer::try_send_batch(std::span<const Outgoing> messages) {
  return send_each(messages, 0, false);
}

SentBatch ChannelProducer::send_batch(std::span<const Outgoing> messages,
                                      std::uint64_t deadline_ns) {
  return send_each(messages, deadline_ns, true);
}

ChannelResult ChannelProducer::drain(std::uint64_t deadline_ns) {
  // A consumer that has ended may have released everything before.
  if (const ChannelResult entered = enter_to_read(); entered != ChannelResult::kOk) return entered;
  if (session().end() == ChannelResult::kOk && writer_.has_staged()) publish();
  return session().wait(
      [&] {
        switch (writer_.look_whether_drained()) {
          case FrameWriter::Room::kYes:
            return writer_.has_staged() ? ChannelResult::kWouldBlock : ChannelResult::kOk;
          case FrameWriter::Room::kFull:
            return ChannelResult::kWouldBlock;
          case FrameWriter::Room::kCorrupt:
            break;
        }
        return released_too_much(writer_);
      },
      deadline_ns, words().full_waits);
}

bool ChannelProducer::prepare_to_poll(std::size_t size) {
  if (enter() != ChannelResult::kOk || size > writer_.message_bytes_max()) return false;
  const bool polls = session().prepare_to_poll([&] { return look_for_room(size); });
  writer_.abort();
  if (polls) count_one(words().full_waits);
  return polls;
}

void ChannelProducer::close() {
  if (has_session()) session().close();
}

}  // namespace lapwing
