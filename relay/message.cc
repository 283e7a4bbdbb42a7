#include "relay/message.h"

#include <zstd.h>

#include <cassert>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lapwing/detail/plain_struct.h"
#include "lapwing/error.h"
#include "relay/message_rules.h"
#include "snapshot/wide_xxh3.h"

namespace lapwing {
namespace {

absl::Status malformed(const std::string& what) {
  return make_error(Errc::kDamaged, absl::StrCat("invalid relay message: ", what));
}

absl::Status malformed(RelayKind kind, const std::string& what) {
  return make_error(Errc::kDamaged,
                    absl::StrCat("invalid relay message (", name_of(kind), "): ", what));
}

absl::Status unknown_to_this_release(const std::string& what) {
  return make_error(
      Errc::kAbiMismatch,
      absl::StrCat("cannot read a relay message: ", what,
                   ". Upgrade this host: mirrors must not be older than their origin."));
}

// The size and the sum, which all versions have in common.
absl::Status check_frame(const RelayHeader& header, std::span<const std::byte> body) {
  if (header.magic != kRelayMagic) {
    return malformed(
        absl::StrFormat("it begins with %08x, not with the magic %08x", header.magic, kRelayMagic));
  }
  const bool sum_is_right = header.sum == message_sum(header, body);
  const bool is_own_version = header.version >= kRelayVersionMin && header.version <= kRelayVersion;
  if (!sum_is_right && is_own_version && header.body_bytes != body.size()) {
    return malformed(absl::StrCat("its body has ", body.size(), " bytes, and its header states ",
                                  header.body_bytes, ". It was cut, or bytes were added."));
  }
  if (!sum_is_right) return malformed("its sum does not match its bytes");
  if (!is_own_version) {
    return unknown_to_this_release(absl::StrCat("it has version ", header.version,
                                                ", and this release reads versions up to ",
                                                kRelayVersion));
  }
  if (header.body_bytes != body.size()) {
    return malformed(absl::StrCat("its body has ", body.size(), " bytes, and its header states ",
                                  header.body_bytes));
  }
  return absl::OkStatus();
}

absl::Status check_flags(const RelayHeader& header) {
  constexpr std::uint32_t kKnown = kRelayFlagSkippable | kRelayFlagZstd;
  if ((header.flags & ~kKnown) == 0) return absl::OkStatus();
  return unknown_to_this_release(absl::StrFormat("it has the unknown flags %x", header.flags));
}

absl::Status check_sizes(const RelayHeader& header, const RelayLimits& limits) {
  if (header.body_bytes > limits.body_bytes_max || header.raw_bytes > limits.body_bytes_max) {
    return malformed(header.kind, absl::StrCat("its body has ", header.body_bytes, " bytes and ",
                                               header.raw_bytes, " uncompressed, more than ",
                                               limits.body_bytes_max));
  }
  if ((header.flags & kRelayFlagZstd) == 0 && header.raw_bytes != header.body_bytes) {
    return malformed(header.kind,
                     absl::StrCat("its body is not compressed and has ", header.body_bytes,
                                  " bytes, but ", header.raw_bytes, " uncompressed"));
  }
  return absl::OkStatus();
}

struct FreeDecoder {
  void operator()(ZSTD_DCtx* decoder) const { ZSTD_freeDCtx(decoder); }
};

// Null without memory.
ZSTD_DCtx* decoder_of_this_thread() {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeDecoder> decoder;
  if (decoder == nullptr) decoder.reset(ZSTD_createDCtx());
  return decoder.get();
}

// Checks that `body` is one frame that states header.raw_bytes. Allocates nothing.
std::string zstd_frame_defect(const RelayHeader& header, std::span<const std::byte> body) {
  const std::size_t frame_bytes = ZSTD_findFrameCompressedSize(body.data(), body.size());
  if (ZSTD_isError(frame_bytes)) {
    return absl::StrCat("its body is not a zstd frame: ", ZSTD_getErrorName(frame_bytes));
  }
  if (frame_bytes != body.size()) {
    return absl::StrCat("its zstd frame has ", frame_bytes, " bytes, and its body ", body.size());
  }
  const unsigned long long content = ZSTD_getFrameContentSize(body.data(), body.size());
  if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR) {
    return "its zstd frame does not state its size";
  }
  if (content != header.raw_bytes) {
    return absl::StrCat("its zstd frame states ", content, " bytes, and its header ",
                        header.raw_bytes);
  }
  return "";
}

// Sets message.body and message.unpacked. The sizes in the header were checked.
absl::Status unpack(std::span<const std::byte> packed, RelayMessage& message) {
  const RelayHeader& header = message.header;
  if (const std::string defect = zstd_frame_defect(header, packed); !defect.empty()) {
    return malformed(header.kind, defect);
  }
  ZSTD_DCtx* const decoder = decoder_of_this_thread();
  message.unpacked.reset(new (std::nothrow) std::byte[header.raw_bytes]);
  if (decoder == nullptr || message.unpacked == nullptr) {
    return make_error(Errc::kNoMemory, absl::StrCat("no memory to decompress a relay message of ",
                                                    header.raw_bytes, " bytes"));
  }
  const std::size_t count = ZSTD_decompressDCtx(decoder, message.unpacked.get(), header.raw_bytes,
                                                packed.data(), packed.size());
  if (ZSTD_isError(count) || count != header.raw_bytes) {
    return malformed(header.kind, absl::StrCat("its zstd frame is damaged: ",
                                               ZSTD_isError(count) ? ZSTD_getErrorName(count)
                                                                   : "it is too short"));
  }
  message.body = {message.unpacked.get(), header.raw_bytes};
  return absl::OkStatus();
}

template <typename Row>
Row row_at(std::span<const std::byte> body, std::size_t i) {
  return *detail::copy_as<Row>(body.subspan(i * sizeof(Row), sizeof(Row)));
}

}  // namespace

std::uint64_t message_sum(const RelayHeader& header, std::span<const std::byte> body) {
  const std::uint64_t seed = XXH3_64bits(&header, offsetof(RelayHeader, sum));
  return XXH3_64bits_withSeed(body.data(), body.size(), seed);
}

absl::StatusOr<RelayMessage> parse_message(std::span<const std::byte> bytes,
                                           const RelayLimits& limits) {
  RelayMessage message;
  RelayHeader& header = message.header;
  if (bytes.size() < sizeof header) {
    return malformed(
        absl::StrCat("it has ", bytes.size(), " bytes, fewer than a header of ", sizeof header));
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::span<const std::byte> body = bytes.subspan(sizeof header);
  if (absl::Status status = check_frame(header, body); !status.ok()) return status;
  if (!is_known(header.kind)) {
    if ((header.flags & kRelayFlagSkippable) != 0) return message;
    return unknown_to_this_release(absl::StrCat(
        "it has the unknown kind ", static_cast<std::uint32_t>(header.kind), " and is required"));
  }
  if (absl::Status status = check_flags(header); !status.ok()) return status;
  if (absl::Status status = check_sizes(header, limits); !status.ok()) return status;
  message.body = body;
  if ((header.flags & kRelayFlagZstd) != 0) {
    if (absl::Status status = unpack(body, message); !status.ok()) return status;
  }
  if (const std::string defect = content_defect(header, message.body); !defect.empty()) {
    return malformed(header.kind, defect);
  }
  return message;
}

bool RelayMessage::skipped() const {
  return !is_known(header.kind);
}

std::span<const std::byte> RelayMessage::record(std::size_t i) const {
  assert(header.kind == RelayKind::kRecords && i < header.count);
  return body.subspan(i * header.record_bytes, header.record_bytes);
}

RelaySession RelayMessage::session(std::size_t i) const {
  assert(header.kind == RelayKind::kSessions && i < header.count);
  return row_at<RelaySession>(body, i);
}

RelayBus RelayMessage::bus() const {
  assert(header.kind == RelayKind::kBus);
  return row_at<RelayBus>(body, 0);
}

RelayBeat RelayMessage::beat() const {
  assert(header.kind == RelayKind::kBeat);
  return row_at<RelayBeat>(body, 0);
}

RelayAsk RelayMessage::ask() const {
  assert(header.kind == RelayKind::kAsk);
  return row_at<RelayAsk>(body, 0);
}

RelayAnswer RelayMessage::answer() const {
  assert(header.kind == RelayKind::kAnswer);
  return row_at<RelayAnswer>(body, 0);
}

std::span<const std::byte> RelayMessage::file_bytes() const {
  assert(header.kind == RelayKind::kAnswer);
  return body.subspan(sizeof(RelayAnswer));
}

RelayAbsent RelayMessage::absent(std::size_t i) const {
  assert(header.kind == RelayKind::kGone && i < header.count);
  return row_at<RelayAbsent>(body, i);
}

void RelayBuffer::FreeEncoder::operator()(ZSTD_CCtx_s* encoder) const {
  ZSTD_freeCCtx(encoder);
}

RelayBuffer::RelayBuffer(int zstd_level)
    : message_(std::make_unique_for_overwrite<std::byte[]>(kRelayMessageBytesMax)) {
  if (zstd_level == 0) return;
  encoder_.reset(ZSTD_createCCtx());
  if (encoder_ == nullptr) return;
  ZSTD_CCtx_setParameter(encoder_.get(), ZSTD_c_compressionLevel, zstd_level);
  packed_ = std::make_unique_for_overwrite<std::byte[]>(kRelayMessageBytesMax);
}

// A message of which the body is written first, then checked, and then the header is written.
class MessageDraft {
 public:
  MessageDraft(RelayKind kind, const RelayOrigin& origin, RelayBuffer& buffer) : buffer_(buffer) {
    header_.magic = kRelayMagic;
    header_.version = kRelayVersion;
    header_.kind = kind;
    header_.journal_id = origin.journal_id;
    header_.session_id = origin.session_id;
    header_.count = 1;
    header_.record_bytes = origin.record_bytes;
    header_.schema_hash = origin.schema_hash;
    header_.head = origin.head;
    header_.durable = origin.durable;
    header_.time_ns = origin.time_ns;
    header_.session_row = origin.session_row;
    header_.session_hash = origin.session_hash;
  }

  // Of records or rows.
  void set_range(std::uint64_t first, std::size_t count) {
    header_.first = first;
    // A count that does not fit is refused because the body is too long.
    header_.count = static_cast<std::uint32_t>(count);
  }
  void append(std::span<const std::byte> bytes) {
    if (bytes.size() > kRelayBodyBytesMax - raw_bytes_) too_long_ = true;
    if (too_long_ || bytes.empty()) return;
    std::byte* const place = buffer_.body().data() + raw_bytes_;
    if (place != bytes.data()) std::memmove(place, bytes.data(), bytes.size());
    raw_bytes_ += bytes.size();
  }

  MadeMessage finish() {
    if (too_long_) return refused(absl::StrCat("its body is longer than ", kRelayBodyBytesMax));
    const std::string defect = content_defect(header_, buffer_.body().first(raw_bytes_));
    if (!defect.empty()) return refused(defect);
    std::byte* message = buffer_.message_.get();
    std::size_t body_bytes = raw_bytes_;
    if (const std::size_t packed_bytes = pack(); packed_bytes != 0) {
      message = buffer_.packed_.get();
      body_bytes = packed_bytes;
      header_.flags |= kRelayFlagZstd;
    }
    header_.body_bytes = static_cast<std::uint32_t>(body_bytes);
    header_.raw_bytes = static_cast<std::uint32_t>(raw_bytes_);
    header_.sum = message_sum(header_, {message + sizeof header_, body_bytes});
    std::memcpy(message, &header_, sizeof header_);
    return std::span<const std::byte>(message, sizeof header_ + body_bytes);
  }

 private:
  absl::Status refused(const std::string& what) const {
    return make_error(Errc::kInvalidArgument, absl::StrCat("cannot make a relay message (",
                                                           name_of(header_.kind), "): ", what));
  }

  // The bytes of the compressed body; 0 if it is not to be sent: no zstd, or not shorter.
  std::size_t pack() {
    if (header_.kind != RelayKind::kRecords || buffer_.encoder_ == nullptr) return 0;
    const std::size_t packed_bytes =
        ZSTD_compress2(buffer_.encoder_.get(), buffer_.packed_.get() + sizeof header_,
                       raw_bytes_ - 1, buffer_.body().data(), raw_bytes_);
    return ZSTD_isError(packed_bytes) ? 0 : packed_bytes;
  }

  RelayBuffer& buffer_;
  RelayHeader header_{};
  std::size_t raw_bytes_ = 0;
  bool too_long_ = false;
};

MadeMessage make_records_message(const RelayOrigin& origin, Sequence first,
                                 std::span<const std::byte> records, RelayBuffer& buffer) {
  MessageDraft draft(RelayKind::kRecords, origin, buffer);
  const std::size_t record_bytes = origin.record_bytes != 0 ? origin.record_bytes : 1;
  draft.set_range(first, records.size() / record_bytes);
  draft.append(records);
  return draft.finish();
}

MadeMessage make_sessions_message(const RelayOrigin& origin, std::uint64_t first,
                                  std::span<const RelaySession> sessions, RelayBuffer& buffer) {
  MessageDraft draft(RelayKind::kSessions, origin, buffer);
  draft.set_range(first, sessions.size());
  draft.append(std::as_bytes(sessions));
  return draft.finish();
}

MadeMessage make_bus_message(const RelayOrigin& origin, const RelayBus& bus, RelayBuffer& buffer) {
  MessageDraft draft(RelayKind::kBus, origin, buffer);
  draft.append(detail::bytes_of(bus));
  return draft.finish();
}

MadeMessage make_beat_message(const RelayOrigin& origin, const RelayBeat& beat,
                              RelayBuffer& buffer) {
  MessageDraft draft(RelayKind::kBeat, origin, buffer);
  draft.append(detail::bytes_of(beat));
  return draft.finish();
}

MadeMessage make_ask_message(const RelayOrigin& origin, const RelayAsk& ask, RelayBuffer& buffer) {
  MessageDraft draft(RelayKind::kAsk, origin, buffer);
  draft.append(detail::bytes_of(ask));
  return draft.finish();
}

MadeMessage make_answer_message(const RelayOrigin& origin, const RelayAnswer& answer,
                                std::span<const std::byte> file_bytes, RelayBuffer& buffer) {
  MessageDraft draft(RelayKind::kAnswer, origin, buffer);
  draft.append(detail::bytes_of(answer));
  draft.append(file_bytes);
  return draft.finish();
}

MadeMessage make_gone_message(const RelayOrigin& origin, std::span<const RelayAbsent> absent,
                              RelayBuffer& buffer) {
  MessageDraft draft(RelayKind::kGone, origin, buffer);
  draft.set_range(0, absent.size());
  draft.append(std::as_bytes(absent));
  return draft.finish();
}

}  // namespace lapwing
