// Fuzz target: the input is a relay message, or changes of a valid one. Its first byte selects what is
// put right afterwards, so that the fuzzer gets behind magic, sizes and sum. Whatever the message
// contains:
//
//   - the parser reads only the bytes of the message. They are in a heap block of their size, so the
//     address sanitizer reports any other read.
//   - a body that parses has the size that the header states, and is at most as long as the limit.
//   - a message that parses can be made again by its maker, and parses to the same body.
//
// A long run in which a kind, or a compressed body, was never parsed has tested nothing: it fails.
//
//   tests/fuzz/run.sh relay_message_fuzz SECONDS
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "lapwing/error.h"
#include "relay/message.h"
#include "testing/relay_messages.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kRunsToJudge = 200'000;
constexpr std::size_t kKinds = 8;  // [0]: skipped

enum Repair : std::uint8_t {
  kFrame = 1,  // magic, version and known flags
  kSizes = 2,  // body_bytes and raw_bytes
  kSum = 4,
  kPack = 8,     // the body is compressed
  kRepeat = 16,  // the body again and again
};

struct Tally {
  std::uint64_t runs = 0;
  std::array<std::uint64_t, kKinds> parsed{};
  std::uint64_t unpacked = 0;

  ~Tally() {
    std::fprintf(stderr, "relay_message_fuzz: %llu messages; skipped, then parsed by kind:",
                 static_cast<unsigned long long>(runs));
    for (const std::uint64_t count : parsed) {
      std::fprintf(stderr, " %llu", static_cast<unsigned long long>(count));
    }
    std::fprintf(stderr, "; %llu of them compressed\n", static_cast<unsigned long long>(unpacked));
    const bool is_void = unpacked == 0 || std::ranges::count(parsed, std::uint64_t{0}) > 0;
    if (runs < kRunsToJudge || !is_void) return;
    std::fprintf(stderr, "relay_message_fuzz: void: a kind was never parsed\n");
    std::_Exit(1);
  }
};
Tally tally;

void require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", claim);
  std::abort();
}

Bytes compressed(const Bytes& body) {
  Bytes packed(ZSTD_compressBound(body.size()));
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), 1);
  require(!ZSTD_isError(size), "zstd compresses any bytes");
  packed.resize(size);
  return packed;
}

template <typename Row>
std::vector<Row> rows_of(const RelayMessage& message, Row (RelayMessage::*row)(std::size_t) const) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < message.header.count; ++i) rows.push_back((message.*row)(i));
  return rows;
}

MadeMessage made_again(const RelayMessage& message, RelayBuffer& buffer) {
  const RelayHeader& header = message.header;
  const RelayOrigin origin = {.journal_id = header.journal_id,
                              .session_id = header.session_id,
                              .record_bytes = header.record_bytes,
                              .schema_hash = header.schema_hash,
                              .head = header.head,
                              .durable = header.durable,
                              .time_ns = header.time_ns,
                              .session_row = header.session_row,
                              .session_hash = header.session_hash};
  switch (header.kind) {
    case RelayKind::kRecords: {
      const std::span<const std::byte> last = message.record(header.count - 1);
      require(last.data() + last.size() == message.body.data() + message.body.size(),
              "the records are the body");
      return make_records_message(origin, header.first, message.body, buffer);
    }
    case RelayKind::kSessions:
      return make_sessions_message(origin, header.first, rows_of(message, &RelayMessage::session),
                                   buffer);
    case RelayKind::kBus:
      return make_bus_message(origin, message.bus(), buffer);
    case RelayKind::kBeat:
      return make_beat_message(origin, message.beat(), buffer);
    case RelayKind::kAsk:
      return make_ask_message(origin, message.ask(), buffer);
    case RelayKind::kAnswer:
      return make_answer_message(origin, message.answer(), message.file_bytes(), buffer);
    case RelayKind::kGone:
      return make_gone_message(origin, rows_of(message, &RelayMessage::absent), buffer);
  }
  return make_error(Errc::kInvalidArgument, "an unknown kind was parsed");
}

void check(const RelayMessage& message, const RelayLimits& limits) {
  const RelayHeader& header = message.header;
  if (message.skipped()) {
    require((header.flags & kRelayFlagSkippable) != 0, "only what may be skipped is skipped");
    require(message.body.empty(), "a skipped message has no body");
    ++tally.parsed[0];
    return;
  }
  require(message.body.size() == header.raw_bytes, "the body has the size that is stated");
  require(header.raw_bytes <= limits.body_bytes_max, "the body is within the limit");
  ++tally.parsed[static_cast<std::size_t>(header.kind)];
  if (message.unpacked != nullptr) ++tally.unpacked;
  static RelayBuffer buffers[] = {RelayBuffer(0), RelayBuffer(1)};
  const MadeMessage again = made_again(message, buffers[header.time_ns % 2]);
  require(again.ok(), "what is parsed can be made");
  const absl::StatusOr<RelayMessage> parsed_again = parse_message(*again, limits);
  require(parsed_again.ok(), "what is made can be parsed");
  require(std::ranges::equal(parsed_again->body, message.body), "the body stays the same");
}

// Values out of the input, and zeros when it is used up.
class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool is_used_up() const { return bytes_.empty(); }
  template <typename T>
  T take() {
    T value{};
    take_into(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void take_into(std::span<std::byte> target) {
    const std::size_t size = std::min(target.size(), bytes_.size());
    if (size != 0) std::memcpy(target.data(), bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  Bytes take_rest() {
    Bytes rest(bytes_.begin(), bytes_.end());
    bytes_ = {};
    return rest;
  }

 private:
  std::span<const std::byte> bytes_;
};

Bytes bytes_of(const MadeMessage& message) {
  require(message.ok(), "a valid message can be made");
  return {message->begin(), message->end()};
}

// A valid message of each kind; of asks and answers more than one.
std::vector<Bytes> make_samples() {
  RelayBuffer buffer;
  const RelayOrigin origin = some_origin();
  const std::vector<RelaySession> sessions = {some_session(0), cut_session(1), open_session(2)};
  std::vector<Bytes> samples = {
      bytes_of(make_records_message(origin, 1, some_records(3), buffer)),
      bytes_of(make_sessions_message(origin, 1, sessions, buffer)),
      bytes_of(make_bus_message(origin, some_bus(), buffer)),
      bytes_of(make_beat_message(origin, some_beat(), buffer)),
      bytes_of(make_answer_message(origin, some_answer(), some_records(3), buffer)),
      bytes_of(make_gone_message(origin, some_ranges(), buffer))};
  for (const RelayRequest request :
       {RelayRequest::kRecords, RelayRequest::kSessions, RelayRequest::kFile, RelayRequest::kFlush,
        RelayRequest::kBus}) {
    samples.push_back(bytes_of(make_ask_message(origin, some_ask(request), buffer)));
  }
  return samples;
}

// The rest of the input: places in the message, and up to eight bytes for each.
void change(Bytes& message, Input& input) {
  while (!input.is_used_up()) {
    const std::size_t place = input.take<std::uint16_t>() % message.size();
    const std::size_t size = input.take<std::uint8_t>() % 8 + 1;
    input.take_into(std::span(message).subspan(place, std::min(size, message.size() - place)));
  }
}

Bytes any_message(Input& input) {
  static const std::vector<Bytes> samples = make_samples();
  const std::size_t number = input.take<std::uint8_t>() % (samples.size() + 1);
  Bytes message = number < samples.size() ? samples[number] : input.take_rest();
  if (number < samples.size()) change(message, input);
  message.resize(std::max(message.size(), sizeof(RelayHeader)));
  return message;
}

Bytes repaired(const Bytes& message, std::uint8_t repairs) {
  RelayHeader header;
  std::memcpy(&header, message.data(), sizeof header);
  Bytes body(message.begin() + sizeof header, message.end());
  if ((repairs & kRepeat) && !body.empty()) {
    const Bytes once = body;
    for (std::size_t i = header.first % 64; i > 0; --i) {
      body.insert(body.end(), once.begin(), once.end());
    }
  }
  if (repairs & kFrame) {
    header.magic = kRelayMagic;
    header.version = kRelayVersion;
    header.flags &= kRelayFlagSkippable | kRelayFlagZstd;
  }
  const std::size_t raw_bytes = body.size();
  if (repairs & kPack) {
    header.flags |= kRelayFlagZstd;
    body = compressed(body);
  }
  if (repairs & kSizes) {
    header.body_bytes = static_cast<std::uint32_t>(body.size());
    header.raw_bytes = static_cast<std::uint32_t>(raw_bytes);
  }
  if (repairs & kSum) header.sum = message_sum(header, body);
  Bytes whole(sizeof header + body.size());
  std::memcpy(whole.data(), &header, sizeof header);
  if (!body.empty()) std::memcpy(whole.data() + sizeof header, body.data(), body.size());
  return whole;
}

void run(Input input) {
  ++tally.runs;
  const auto repairs = input.take<std::uint8_t>();
  const auto choice = input.take<std::uint8_t>();
  const RelayLimits limits = {.body_bytes_max = choice % 16 == 3 ? 500U : kRelayBodyBytesMax};
  const Bytes message = repaired(any_message(input), repairs);
  const std::size_t cut = choice % 16 == 4 ? choice : 0;
  const std::size_t size = message.size() - std::min(message.size(), cut);
  const auto block = std::make_unique<std::byte[]>(size);
  if (size != 0) std::memcpy(block.get(), message.data(), size);
  const absl::StatusOr<RelayMessage> parsed = parse_message({block.get(), size}, limits);
  if (parsed.ok()) return check(*parsed, limits);
  const Errc code = errc_of(parsed.status());
  require(code == Errc::kDamaged || code == Errc::kAbiMismatch, "an error has one of two numbers");
}

}  // namespace
}  // namespace lapwing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  lapwing::run(lapwing::Input(std::as_bytes(std::span(bytes, size))));
  return 0;
}
