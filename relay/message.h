// Relay messages (proto/relay_frames.h): the makers and the parser.
//
//   RelayBuffer buffer;
//   const auto message = make_records_message(origin, first, records, buffer);
//   if (message.ok()) send(*message);
//
//   const auto received = parse_message(bytes);
//   if (received.ok() && received->header.kind == RelayKind::kRecords) apply(received->body);
//
// A maker returns the bytes of the message in its buffer. They are valid until the buffer is used
// again. Makers return kInvalidArgument for a message that parse_message would refuse.
//
// Thread safety: parse_message may be called from any thread; it keeps one zstd decoder per thread. A
// RelayBuffer belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "proto/relay_frames.h"

struct ZSTD_CCtx_s;

namespace lapwing {

// The fields of RelayHeader that describe the origin and the session.
struct RelayOrigin {
  Id128 journal_id;
  Id128 session_id;
  std::uint32_t record_bytes = 0;
  std::uint64_t schema_hash = 0;
  std::uint64_t head = 0;
  std::uint64_t durable = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t session_row = 0;
  std::uint64_t session_hash = 0;
};

// Memory for messages that are made one after the other. Everything is allocated by the constructor
// and, for zstd, by the first message that is compressed.
class RelayBuffer {
 public:
  // Records are compressed at that level of zstd; 0: never. A message that would not get shorter is
  // sent as it is, and so are all messages if there is no memory for the encoder.
  explicit RelayBuffer(int zstd_level = 0);

  // Memory of the body. make_records_message does not copy records that begin at its first byte.
  std::span<std::byte> body() { return {message_.get() + sizeof(RelayHeader), kRelayBodyBytesMax}; }

 private:
  friend class MessageDraft;  // in message.cc
  struct FreeEncoder {
    void operator()(ZSTD_CCtx_s* encoder) const;
  };

  std::unique_ptr<std::byte[]> message_;  // kRelayMessageBytesMax bytes
  // With zstd: the message with the compressed body, and the encoder.
  std::unique_ptr<std::byte[]> packed_;
  std::unique_ptr<ZSTD_CCtx_s, FreeEncoder> encoder_;
};

using MadeMessage = absl::StatusOr<std::span<const std::byte>>;

// `records`: whole records of origin.record_bytes bytes, end to end; `first` is the sequence of the
// first one. All are of the session origin.session_id.
MadeMessage make_records_message(const RelayOrigin& origin, Sequence first,
                                 std::span<const std::byte> records, RelayBuffer& buffer);
// `first`: how many sessions the sender lists before sessions[0].
MadeMessage make_sessions_message(const RelayOrigin& origin, std::uint64_t first,
                                  std::span<const RelaySession> sessions, RelayBuffer& buffer);
MadeMessage make_bus_message(const RelayOrigin& origin, const RelayBus& bus, RelayBuffer& buffer);
MadeMessage make_beat_message(const RelayOrigin& origin, const RelayBeat& beat,
                              RelayBuffer& buffer);
// A mirror that asks sets only the journal id, and nothing if it has none yet.
MadeMessage make_ask_message(const RelayOrigin& origin, const RelayAsk& ask, RelayBuffer& buffer);
// `file_bytes`: the part of the file at answer.offset. Empty in other answers.
MadeMessage make_answer_message(const RelayOrigin& origin, const RelayAnswer& answer,
                                std::span<const std::byte> file_bytes, RelayBuffer& buffer);
// `absent` ascends and is of the journal origin.journal_id.
MadeMessage make_gone_message(const RelayOrigin& origin, std::span<const RelayAbsent> absent,
                              RelayBuffer& buffer);

// Limits of a receiver.
struct RelayLimits {
  std::uint32_t body_bytes_max = kRelayBodyBytesMax;  // as sent, and uncompressed
};

// A message that was checked. The accessors below may be called for the kind of their name only.
struct RelayMessage {
  RelayHeader header{};
  // The uncompressed body: in the bytes that were parsed, or in `unpacked`. Empty if skipped().
  std::span<const std::byte> body;
  std::unique_ptr<std::byte[]> unpacked;

  // True for a message of an unknown kind that its sender allows to skip.
  bool skipped() const;

  std::span<const std::byte> record(std::size_t i) const;
  RelaySession session(std::size_t i) const;
  RelayBus bus() const;
  RelayBeat beat() const;
  RelayAsk ask() const;
  RelayAnswer answer() const;
  std::span<const std::byte> file_bytes() const;  // of an answer
  RelayAbsent absent(std::size_t i) const;
};

// Checks the bytes and returns the message. `bytes` must stay valid as long as the message is used.
// Allocates at most limits.body_bytes_max bytes for the message, and only if its body is compressed.
// Errors, each with what is wrong: kDamaged for anything malformed; kAbiMismatch for a version, flag
// or kind that this release does not know; kNoMemory.
absl::StatusOr<RelayMessage> parse_message(std::span<const std::byte> bytes,
                                           const RelayLimits& limits = {});

// The value of header.sum for a message of this header and this body as sent.
std::uint64_t message_sum(const RelayHeader& header, std::span<const std::byte> body);

}  // namespace lapwing
