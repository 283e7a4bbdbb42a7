#include "relay/message.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "lapwing/detail/plain_struct.h"
#include "lapwing/error.h"
#include "testing/counted_allocations.h"
#include "testing/relay_messages.h"
#include "testing/status_text.h"

namespace lapwing {
namespace {

Bytes made(const MadeMessage& message) {
  INFO(message.status());
  REQUIRE(message.ok());
  return {message->begin(), message->end()};
}

Bytes records_message(std::size_t count = 10, int zstd_level = 0) {
  RelayBuffer buffer(zstd_level);
  return made(make_records_message(some_origin(), 4'001, some_records(count), buffer));
}

RelayMessage parsed(std::span<const std::byte> bytes) {
  absl::StatusOr<RelayMessage> message = parse_message(bytes);
  INFO(message.status());
  REQUIRE(message.ok());
  return *std::move(message);
}

RelayHeader header_of(const Bytes& message) {
  RelayHeader header;
  std::memcpy(&header, message.data(), sizeof header);
  return header;
}

std::span<const std::byte> body_of(const Bytes& message) {
  return std::span(message).subspan(sizeof(RelayHeader));
}

// A message as a sender would forge it: sizes as given, and a sum that is right.
Bytes forged(RelayHeader header, std::span<const std::byte> body) {
  header.sum = message_sum(header, body);
  Bytes message(sizeof header + body.size());
  std::memcpy(message.data(), &header, sizeof header);
  if (!body.empty()) std::memcpy(message.data() + sizeof header, body.data(), body.size());
  return message;
}

// The message with another header, whose sum is right.
template <typename Change>
Bytes with_header(const Bytes& message, Change&& change) {
  RelayHeader header = header_of(message);
  change(header);
  return forged(header, body_of(message));
}

// The message with another body; its sizes and its sum are right.
Bytes with_body(const Bytes& message, std::span<const std::byte> body) {
  return with_header(forged(header_of(message), body), [&](RelayHeader& header) {
    header.body_bytes = header.raw_bytes = static_cast<std::uint32_t>(body.size());
  });
}

Bytes compressed(std::span<const std::byte> bytes, bool states_size = true) {
  ZSTD_CCtx* const encoder = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(encoder, ZSTD_c_contentSizeFlag, states_size ? 1 : 0);
  Bytes packed(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress2(encoder, packed.data(), packed.size(), bytes.data(), bytes.size());
  ZSTD_freeCCtx(encoder);
  REQUIRE_FALSE(ZSTD_isError(size));
  packed.resize(size);
  return packed;
}

// A records message with this compressed body, stated to have `raw_bytes` bytes.
Bytes with_packed(const Bytes& packed, std::size_t raw_bytes) {
  return with_header(with_body(records_message(), packed), [&](RelayHeader& header) {
    header.flags |= kRelayFlagZstd;
    header.raw_bytes = static_cast<std::uint32_t>(raw_bytes);
  });
}

// Both sides refuse the message: the parser received `bytes`, the maker was called.
void check_refused(std::span<const std::byte> bytes, const std::string& words,
                   Errc code = Errc::kDamaged) {
  const absl::Status status = parse_message(bytes).status();
  CHECK(errc_of(status) == code);
  CHECK(says(status, words));
}

void check_not_made(const MadeMessage& message, const std::string& words) {
  CHECK(errc_of(message.status()) == Errc::kInvalidArgument);
  CHECK(says(message.status(), "cannot make a relay message"));
  CHECK(says(message.status(), words));
}

}  // namespace

TEST_CASE("Records come back with everything that the header states") {
  const Bytes records = some_records(10);
  const Bytes message = records_message();
  CHECK(message.size() == sizeof(RelayHeader) + records.size());
  const RelayMessage received = parsed(message);
  const RelayHeader& header = received.header;
  CHECK(header.kind == RelayKind::kRecords);
  CHECK(header.version == kRelayVersion);
  CHECK(header.flags == 0);
  CHECK(header.journal_id == id_of(1));
  CHECK(header.session_id == id_of(2));
  CHECK(header.first == 4'001);
  CHECK(header.count == 10);
  CHECK(header.record_bytes == kRecordBytes);
  CHECK(header.schema_hash == 0x1122334455667788);
  CHECK(header.head == 5'000);
  CHECK(header.durable == 4'000);
  CHECK(header.time_ns == 1'763'650'800'000'000'000);
  CHECK(header.session_row == 7);
  CHECK(header.session_hash == 0x99aabbccddeeff00);
  CHECK_FALSE(received.skipped());
  CHECK(std::ranges::equal(received.body, records));
  CHECK(received.body.data() == message.data() + sizeof(RelayHeader));  // not copied
  CHECK(received.record(9).size() == kRecordBytes);
  CHECK(received.record(9).data() == received.body.data() + 9 * kRecordBytes);
}

TEST_CASE("A message is these bytes") {
  const RelayOrigin origin = {.journal_id = id_of(1),
                              .session_id = id_of(2),
                              .record_bytes = 8,
                              .schema_hash = 3,
                              .head = 9,
                              .durable = 8,
                              .time_ns = 4,
                              .session_row = 5,
                              .session_hash = 6};
  RelayBuffer buffer;
  const Bytes message = made(make_records_message(origin, 7, some_records(2, 8), buffer));
  const std::string text(reinterpret_cast<const char*>(message.data()), message.size());
  CHECK(absl::BytesToHexString(text) ==
        "4c505752"                          // LPWR
        "0100"                              // version
        "0100"                              // records
        "00000000"                          // flags
        "00000000"                          // reserved
        "01010101010101010101010101010101"  // journal
        "02020202020202020202020202020202"  // session
        "0700000000000000"                  // first
        "02000000"                          // count
        "08000000"                          // bytes of a record
        "0300000000000000"                  // schema hash
        "0900000000000000"                  // head
        "0800000000000000"                  // durable
        "0400000000000000"                  // time
        "0500000000000000"                  // session row
        "0600000000000000"                  // session hash
        "10000000"                          // bytes of the body as sent
        "10000000"                          // uncompressed
        "2867428f98e486b6"                  // sum
        "0000000000000000"
        "0101010101010101");
}

TEST_CASE("Every kind comes back as it was made") {
  RelayBuffer buffer;
  const RelayOrigin origin = some_origin();
  SECTION("sessions") {
    const std::vector<RelaySession> sessions = {some_session(0), cut_session(1), open_session(2)};
    const Bytes message = made(make_sessions_message(origin, 17, sessions, buffer));
    const RelayMessage received = parsed(message);
    CHECK(received.header.kind == RelayKind::kSessions);
    CHECK(received.header.first == 17);
    REQUIRE(received.header.count == 3);
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      const RelaySession session = received.session(i);
      CHECK(std::memcmp(&session, &sessions[i], sizeof session) == 0);
    }
  }
  SECTION("bus") {
    const RelayBus sent = some_bus();
    const RelayBus bus = parsed(made(make_bus_message(origin, sent, buffer))).bus();
    CHECK(std::memcmp(&bus, &sent, sizeof bus) == 0);
  }
  SECTION("beat") {
    const RelayBeat sent = some_beat();
    const RelayBeat beat = parsed(made(make_beat_message(origin, sent, buffer))).beat();
    CHECK(std::memcmp(&beat, &sent, sizeof beat) == 0);
  }
  SECTION("ask") {
    for (const RelayRequest request :
         {RelayRequest::kRecords, RelayRequest::kSessions, RelayRequest::kFile,
          RelayRequest::kFlush, RelayRequest::kBus}) {
      const RelayAsk sent = some_ask(request);
      const RelayAsk ask = parsed(made(make_ask_message(origin, sent, buffer))).ask();
      CHECK(std::memcmp(&ask, &sent, sizeof ask) == 0);
    }
  }
  SECTION("answer") {
    const Bytes part = noise(900);
    const RelayAnswer sent = some_answer();
    const Bytes message = made(make_answer_message(origin, sent, part, buffer));
    const RelayMessage received = parsed(message);
    const RelayAnswer answer = received.answer();
    CHECK(std::memcmp(&answer, &sent, sizeof answer) == 0);
    CHECK(std::ranges::equal(received.file_bytes(), part));
  }
  SECTION("gone") {
    const std::vector<RelayAbsent> ranges = some_ranges();
    const Bytes message = made(make_gone_message(origin, ranges, buffer));
    const RelayMessage received = parsed(message);
    REQUIRE(received.header.count == 3);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const RelayAbsent absent = received.absent(i);
      CHECK(std::memcmp(&absent, &ranges[i], sizeof absent) == 0);
    }
  }
}

TEST_CASE("A mirror that knows nothing of the bus can ask for it") {
  RelayBuffer buffer;
  for (const RelayRequest request :
       {RelayRequest::kBus, RelayRequest::kSessions, RelayRequest::kFile}) {
    CHECK(parsed(made(make_ask_message({}, some_ask(request), buffer))).header.count == 1);
  }
}

TEST_CASE("Records of the smallest and the largest size fill a message") {
  RelayOrigin origin = some_origin();
  RelayBuffer buffer;
  origin.record_bytes = 8;
  CHECK(parsed(made(make_records_message(origin, 1, noise(8'000), buffer))).header.count == 1'000);
  origin.record_bytes = 4'088;
  const Bytes message = made(make_records_message(origin, 1, noise(64 * 4'088), buffer));
  CHECK(parsed(message).header.count == 64);
  check_not_made(make_records_message(origin, 1, noise(65 * 4'088), buffer), "longer than 262144");
}

TEST_CASE("Compressed records come back as they were") {
  const Bytes records = some_records(1'000);
  const Bytes message = records_message(1'000, 1);
  CHECK(message.size() < sizeof(RelayHeader) + records.size() / 2);
  RelayMessage received = parsed(message);
  CHECK(received.header.flags == kRelayFlagZstd);
  CHECK(received.header.raw_bytes == records.size());
  CHECK(received.header.body_bytes == message.size() - sizeof(RelayHeader));
  CHECK(std::ranges::equal(received.body, records));
  const RelayMessage moved = std::move(received);
  CHECK(std::ranges::equal(moved.body, records));
}

TEST_CASE("Records that zstd does not make shorter are sent as they are") {
  RelayBuffer buffer(3);
  const Bytes records = noise(10 * kRecordBytes);
  const Bytes message = made(make_records_message(some_origin(), 1, records, buffer));
  CHECK(header_of(message).flags == 0);
  CHECK(std::ranges::equal(parsed(message).body, records));
  const Bytes one = some_records(1, 8);
  RelayOrigin origin = some_origin();
  origin.record_bytes = 8;
  CHECK(header_of(made(make_records_message(origin, 1, one, buffer))).flags == 0);
}

TEST_CASE("Records that were read into the buffer are not copied") {
  for (const int zstd_level : {0, 1}) {
    RelayBuffer buffer(zstd_level);
    const Bytes records = some_records(100);
    std::ranges::copy(records, buffer.body().begin());
    const MadeMessage message =
        make_records_message(some_origin(), 1, buffer.body().first(records.size()), buffer);
    CHECK(std::ranges::equal(parsed(made(message)).body, records));
    const bool is_in_place = message->data() + sizeof(RelayHeader) == buffer.body().data();
    CHECK(is_in_place == (zstd_level == 0));
  }
}

TEST_CASE("A buffer that has made a message makes the next ones without an allocation") {
  const Bytes records = some_records(1'000);
  const Bytes part = noise(100);
  const std::vector<RelayAbsent> ranges = some_ranges();
  const RelaySession session = open_session(0);
  const RelayOrigin origin = some_origin();
  for (const int zstd_level : {0, 1}) {
    RelayBuffer buffer(zstd_level);
    std::uint64_t failed = 0;
    const auto make_all = [&] {
      failed += !make_records_message(origin, 1, records, buffer).ok();
      failed += !make_sessions_message(origin, 0, std::span(&session, 1), buffer).ok();
      failed += !make_bus_message(origin, some_bus(), buffer).ok();
      failed += !make_beat_message(origin, some_beat(), buffer).ok();
      failed += !make_ask_message(origin, some_ask(), buffer).ok();
      failed += !make_answer_message(origin, some_answer(), part, buffer).ok();
      failed += !make_gone_message(origin, ranges, buffer).ok();
    };
    make_all();
    const std::uint64_t before = allocations;
    for (int i = 0; i < 100; ++i) make_all();
    const std::uint64_t during = allocations - before;
    CHECK(during == 0);
    CHECK(failed == 0);
  }
}

TEST_CASE("A message is parsed without an allocation, or with that of its body") {
  const Bytes plain = records_message(1'000);
  const Bytes packed = records_message(1'000, 1);
  CHECK(parse_message(packed).ok());  // makes this thread's decoder
  std::uint64_t before = allocations;
  const bool plain_is_ok = parse_message(plain).ok();
  const std::uint64_t for_plain = allocations - before;
  before = allocations;
  const bool packed_is_ok = parse_message(packed).ok();
  const std::uint64_t for_packed = allocations - before;
  CHECK(plain_is_ok);
  CHECK(packed_is_ok);
  CHECK(for_plain == 0);
  CHECK(for_packed == 1);
}

TEST_CASE("A message that was cut anywhere, or has more bytes, is refused") {
  const Bytes message = records_message(2);
  for (std::size_t size = 0; size < message.size(); ++size) {
    const Bytes cut(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size));
    const absl::Status status = parse_message(cut).status();
    if (errc_of(status) != Errc::kDamaged) FAIL("cut at " << size << ": " << status);
  }
  check_refused({}, "it has 0 bytes, fewer than a header of 128");
  check_refused(std::span(message).first(127), "it has 127 bytes, fewer than a header of 128");
  check_refused(std::span(message).first(200),
                "its body has 72 bytes, and its header states 112. It was cut");
  Bytes longer = message;
  longer.push_back(std::byte{0});
  check_refused(longer, "its body has 113 bytes, and its header states 112");
  // The same sizes with a sum that is right.
  check_refused(forged(header_of(message), body_of(longer)),
                "its body has 113 bytes, and its header states 112");
}

TEST_CASE("A message with any bit flipped is refused") {
  for (const Bytes& good : {records_message(2), records_message(100, 1)}) {
    Bytes message = good;
    for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
      const auto flip = static_cast<std::byte>(1 << bit % 8);
      message[bit / 8] ^= flip;
      const absl::Status status = parse_message(message).status();
      if (errc_of(status) != Errc::kDamaged) FAIL("bit " << bit << ": " << status);
      message[bit / 8] ^= flip;
    }
    CHECK(parse_message(message).ok());
  }
  Bytes message = records_message();
  message.back() ^= std::byte{1};
  check_refused(message, "its sum does not match its bytes");
}

TEST_CASE("Bytes that are not a relay message are refused by their magic") {
  Bytes message = records_message();
  std::memcpy(message.data(), "PING", 4);
  check_refused(message, "it begins with 474e4950, not with the magic 5257504c");
}

TEST_CASE("A message of another version is refused with its version") {
  const auto of_version = [](std::uint16_t version) {
    return with_header(records_message(), [&](RelayHeader& header) {
      header.version = version;
      header.body_bytes = 7;  // whatever that version has there
    });
  };
  check_refused(of_version(2), "it has version 2, and this release reads versions up to 1",
                Errc::kAbiMismatch);
  check_refused(of_version(0), "it has version 0", Errc::kAbiMismatch);
  check_refused(of_version(2), "Upgrade this host", Errc::kAbiMismatch);
}

TEST_CASE("A message of an unknown kind is skipped if its sender allows it") {
  const auto of_kind = [](std::uint16_t kind, std::uint32_t flags) {
    return with_header(records_message(), [&](RelayHeader& header) {
      header.kind = static_cast<RelayKind>(kind);
      header.flags = flags;
    });
  };
  for (const std::uint16_t kind : std::array<std::uint16_t, 3>{0, 8, 65'535}) {
    const RelayMessage skipped = parsed(of_kind(kind, kRelayFlagSkippable));
    CHECK(skipped.skipped());
    CHECK(skipped.body.empty());
  }
  // A later kind may have flags of its own.
  CHECK(parsed(of_kind(8, kRelayFlagSkippable | 0x100)).skipped());
  check_refused(of_kind(8, 0), "it has the unknown kind 8 and is required", Errc::kAbiMismatch);
  check_refused(of_kind(8, kRelayFlagZstd), "the unknown kind 8", Errc::kAbiMismatch);
  Bytes damaged = of_kind(8, kRelayFlagSkippable);
  damaged.back() ^= std::byte{1};
  check_refused(damaged, "its sum does not match");
}

TEST_CASE("A known kind with an unknown flag is refused") {
  const Bytes message =
      with_header(records_message(), [](RelayHeader& header) { header.flags = 5; });
  check_refused(message, "it has the unknown flags 5", Errc::kAbiMismatch);
  const Bytes skippable =
      with_header(records_message(), [](RelayHeader& header) { header.flags = 1; });
  CHECK_FALSE(parsed(skippable).skipped());
}

TEST_CASE("A body above the limit is refused before it is unpacked") {
  const Bytes bomb_body = compressed(Bytes(64 << 20));
  CHECK(bomb_body.size() < 16'384);
  check_refused(with_packed(bomb_body, 64 << 20),
                "bytes and 67108864 uncompressed, more than 262144");
  const std::uint64_t before = allocations;
  const absl::Status lying = parse_message(with_packed(bomb_body, 10 * kRecordBytes)).status();
  CHECK(allocations - before < 100);
  CHECK(errc_of(lying) == Errc::kDamaged);
  CHECK(says(lying, "its zstd frame states 67108864 bytes, and its header 560"));
  check_refused(with_body(records_message(), noise(kRelayBodyBytesMax + 1)), "more than 262144");
  check_refused(with_packed(noise(kRelayBodyBytesMax + 1), 560),
                "its body has 262145 bytes and 560 uncompressed, more than 262144");
  const Bytes message = records_message();
  CHECK(parse_message(message, {.body_bytes_max = 560}).ok());
  const absl::Status limited = parse_message(message, {.body_bytes_max = 559}).status();
  CHECK(says(limited, "(records): its body has 560 bytes and 560 uncompressed, more than 559"));
}

TEST_CASE("A compressed body is one zstd frame that states the size in the header") {
  const Bytes records = some_records(10);
  CHECK(parse_message(with_packed(compressed(records), records.size())).ok());
  check_refused(with_packed(noise(100), records.size()), "its body is not a zstd frame");
  check_refused(with_packed(compressed(records, false), records.size()),
                "its zstd frame does not state its size");
  check_refused(with_packed(compressed(records), records.size() - 1), "its zstd frame states 560");
  Bytes two = compressed(records);
  const Bytes second = two;
  two.insert(two.end(), second.begin(), second.end());
  check_refused(with_packed(two, records.size()), "its zstd frame has");
  Bytes cut = compressed(records);
  cut.pop_back();
  check_refused(with_packed(cut, records.size()), "its body is not a zstd frame");
  check_refused(with_packed({}, records.size()), "its body is not a zstd frame");
}

TEST_CASE("A zstd frame that cannot be decompressed is refused") {
  const Bytes records = some_records(1'000);
  Bytes packed = compressed(records);
  std::size_t damaged = 0;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    packed[i] ^= std::byte{0x55};
    const absl::Status status = parse_message(with_packed(packed, records.size())).status();
    packed[i] ^= std::byte{0x55};
    if (status.message().find("its zstd frame is damaged: ") != std::string::npos) ++damaged;
  }
  CHECK(damaged > 0);
}

TEST_CASE("A body without zstd has one size") {
  check_refused(with_header(records_message(), [](RelayHeader& header) { header.raw_bytes = 561; }),
                "its body is not compressed and has 560 bytes, but 561 uncompressed");
}

TEST_CASE("Head and durable that contradict each other are refused") {
  const auto refused = [](std::uint64_t head, std::uint64_t durable, const std::string& words) {
    check_refused(with_header(records_message(),
                              [&](RelayHeader& header) {
                                header.head = head;
                                header.durable = durable;
                              }),
                  words);
    RelayOrigin origin = some_origin();
    origin.head = head;
    origin.durable = durable;
    RelayBuffer buffer;
    check_not_made(make_records_message(origin, 1, some_records(1), buffer), words);
  };
  refused(5'000, 5'001, "its durable, 5001, is above its head, 5000");
  refused(kSequenceMax + 1, 0, "its head is 9223372036854775808");
}

TEST_CASE("Wrong records are refused, and not made") {
  const auto refused = [](const std::function<void(RelayHeader&)>& change,
                          const std::string& words) {
    check_refused(with_header(records_message(), change), "invalid relay message (records): ");
    check_refused(with_header(records_message(), change), words);
  };
  refused([](RelayHeader& h) { h.journal_id = {}; }, "it has no journal id");
  refused([](RelayHeader& h) { h.session_id = {}; }, "it has no session id");
  refused([](RelayHeader& h) { h.count = 0; }, "it has no records");
  refused([](RelayHeader& h) { h.count = 1'001; }, "it has 1001 records, more than 1000");
  refused([](RelayHeader& h) { h.record_bytes = 7; }, "its records have 7 bytes, not 8 to 4088");
  refused([](RelayHeader& h) { h.record_bytes = 4'089; }, "its records have 4089 bytes");
  refused([](RelayHeader& h) { h.count = 9; },
          "its body has 560 bytes, but 9 records of 56 bytes are stated");
  refused([](RelayHeader& h) { h.first = 0; }, "its 10 records begin at sequence 0");
  refused([](RelayHeader& h) { h.first = kSequenceMax - 8; },
          "its 10 records begin at sequence 9223372036854775799");
  CHECK(parse_message(with_header(records_message(), [](RelayHeader& h) {
          h.first = kSequenceMax - 9;
        })).ok());

  RelayBuffer buffer;
  const auto not_made = [&](const std::function<void(RelayOrigin&)>& change, Sequence first,
                            std::span<const std::byte> records, const std::string& words) {
    RelayOrigin origin = some_origin();
    change(origin);
    check_not_made(make_records_message(origin, first, records, buffer), words);
  };
  const Bytes ten = some_records(10);
  not_made([](RelayOrigin& o) { o.journal_id = {}; }, 1, ten, "it has no journal id");
  not_made([](RelayOrigin& o) { o.session_id = {}; }, 1, ten, "it has no session id");
  not_made([](RelayOrigin& o) { o.record_bytes = 0; }, 1, ten, "its records have 0 bytes");
  not_made([](RelayOrigin& o) { o.record_bytes = 7; }, 1, ten, "its records have 7 bytes");
  not_made([](RelayOrigin& o) { o.record_bytes = 8; }, 1, noise(8'008), "it has 1001 records");
  not_made([](RelayOrigin&) {}, 1, {}, "it has no records");
  not_made([](RelayOrigin&) {}, 1, noise(57), "its body has 57 bytes, but 1 records of 56");
  not_made([](RelayOrigin&) {}, 0, ten, "begin at sequence 0");
}

TEST_CASE("Wrong sessions are refused, and not made") {
  RelayBuffer buffer;
  const std::vector<RelaySession> good = {some_session(0), cut_session(1), open_session(2)};
  const Bytes good_message = made(make_sessions_message(some_origin(), 0, good, buffer));
  const auto refused = [&](const std::function<void(std::vector<RelaySession>&)>& change,
                           const std::string& words) {
    std::vector<RelaySession> sessions = good;
    change(sessions);
    check_not_made(make_sessions_message(some_origin(), 0, sessions, buffer), words);
    check_refused(with_body(good_message, std::as_bytes(std::span(sessions))), words);
  };
  using Sessions = std::vector<RelaySession>;
  refused([](Sessions& s) { s[1].journal_id = {}; }, "session 1 has no journal id");
  refused([](Sessions& s) { s[1].session_id = {}; }, "session 1 has no session id");
  refused([](Sessions& s) { s[0].schema[31] = 'x'; },
          "session 0 has a schema without a final zero");
  refused([](Sessions& s) { s[2].first = 0; }, "session 2 begins at sequence 0");
  refused([](Sessions& s) { s[2].first = kSequenceMax + 1; }, "session 2 begins at sequence 9223");
  refused([](Sessions& s) { s[0].slot_bytes = 128; }, "session 0 has a wrong geometry: records of");
  refused([](Sessions& s) { s[0].segment_slots = 1'000; }, "a segment cannot have 1000 slots");
  refused([](Sessions& s) { s[0].how = static_cast<SessionEnd>(6); },
          "session 0 has the unknown end 6");
  refused([](Sessions& s) { s[1].last = 999; },
          "session 1 begins at sequence 1001 and ends at 999");
  refused([](Sessions& s) { s[0].last = kSequenceMax + 1; }, "and ends at 9223372036854775808");
  refused([](Sessions& s) { s[0].end_row = 0; }, "session 0 begins in row 0 and ends in row 0");
  refused([](Sessions& s) { s[1].how = SessionEnd::kClosed; },
          "session 1 ends as closed at sequence 1500 with a void from 1501 to 2000");
  refused([](Sessions& s) { s[1].void_first = 1'502; }, "with a void from 1502 to 2000");
  refused([](Sessions& s) { s[1].void_last = 1'500; }, "with a void from 1501 to 1500");
  refused([](Sessions& s) { s[1].void_last = kSequenceMax + 1; }, "with a void from 1501 to 9223");
  for (std::uint64_t RelaySession::* field :
       {&RelaySession::last, &RelaySession::void_first, &RelaySession::void_last,
        &RelaySession::end_row, &RelaySession::end_hash, &RelaySession::end_wall_ns}) {
    refused([field](Sessions& s) { s[2].*field = 3'000; },
            "session 2 is open and has values of an end");
  }
  refused([](Sessions& s) { s[2].sys_errno = 5; }, "session 2 is open and has values of an end");
  refused([](Sessions& s) { s[1] = open_session(1); },
          "session 2 follows a session that has not ended");
  refused([](Sessions& s) { s[1].begin_row = 2; },
          "session 1 begins in row 2, and the session before it ends in row 2");

  check_not_made(make_sessions_message(some_origin(), 0, {}, buffer), "it has no rows");
  check_not_made(make_sessions_message({}, 0, good, buffer), "it has no journal id");
  check_not_made(make_sessions_message(some_origin(), 0, Sessions(1'261), buffer), "longer than");
  check_refused(with_header(good_message, [](RelayHeader& h) { h.count = 2; }),
                "its body has 624 bytes, but 2 rows of 208 bytes are stated");
  check_refused(with_header(good_message, [](RelayHeader& h) { h.count = 0; }), "it has no rows");
  // 2^32 - 1 rows.
  check_refused(with_header(good_message, [](RelayHeader& h) { h.count = UINT32_MAX; }),
                "but 4294967295 rows");
}

TEST_CASE("A session without records may end before its first sequence") {
  RelayBuffer buffer;
  RelaySession empty = some_session(1);
  empty.last = empty.first - 1;
  const RelaySession cut = cut_session(1);
  for (const RelaySession& session : {empty, cut}) {
    CHECK(make_sessions_message(some_origin(), 0, std::span(&session, 1), buffer).ok());
  }
}

namespace {

// For kinds whose body is one struct: changes it, and expects that it is neither made nor parsed.
template <typename Struct>
class WrongStruct {
 public:
  using Make = MadeMessage (*)(const RelayOrigin&, const Struct&, RelayBuffer&);
  WrongStruct(Make make, const Struct& good) : make_(make), good_(good) {
    message_ = made(make_(some_origin(), good_, buffer_));
  }

  void refused(const std::function<void(Struct&)>& change, const std::string& words) {
    Struct wrong = good_;
    change(wrong);
    check_not_made(make_(some_origin(), wrong, buffer_), words);
    check_refused(with_body(message_, detail::bytes_of(wrong)), words);
  }
  void refuses_other_sizes() {
    const std::string words = absl::StrCat(" bytes, not ", sizeof(Struct));
    for (const std::size_t size : {std::size_t{0}, sizeof(Struct) - 1, sizeof(Struct) + 1}) {
      Bytes body(body_of(message_).begin(), body_of(message_).end());
      body.resize(size);
      check_refused(with_body(message_, body), absl::StrCat("its body has ", size, words));
    }
    check_refused(with_header(message_, [](RelayHeader& h) { h.count = 2; }),
                  "its count is 2, not 1");
  }
  void needs_ids() {
    check_refused(with_header(message_, [](RelayHeader& h) { h.journal_id = {}; }),
                  "it has no journal id");
    check_refused(with_header(message_, [](RelayHeader& h) { h.session_id = {}; }),
                  "it has no session id");
    check_not_made(make_({}, good_, buffer_), "it has no journal id");
  }
  const Bytes& message() const { return message_; }

 private:
  Make make_;
  Struct good_;
  RelayBuffer buffer_;
  Bytes message_;
};

}  // namespace

TEST_CASE("A wrong bus is refused, and not made") {
  WrongStruct<RelayBus> wrong(make_bus_message, some_bus());
  wrong.refuses_other_sizes();
  wrong.needs_ids();
  wrong.refused([](RelayBus& b) { b.name[0] = 0; }, "the bus has no name");
  wrong.refused([](RelayBus& b) { b.name[63] = 'x'; }, "the name of the bus has no final zero");
  wrong.refused([](RelayBus& b) { b.schema[31] = 'x'; }, "the schema has no final zero");
  wrong.refused([](RelayBus& b) { b.record_bytes = 7; }, "records of 7 bytes do not go into slots");
  wrong.refused([](RelayBus& b) { b.slot_bytes = 128; }, "do not go into slots of 128");
  wrong.refused([](RelayBus& b) { b.segment_slots = 3; }, "a segment cannot have 3 slots");
  wrong.refused([](RelayBus& b) { b.capacity = 3'000; }, "a ring cannot have 3000 slots of 64");
  wrong.refused([](RelayBus& b) { b.capacity = 512; }, "a ring cannot have 512 slots of 64");
  wrong.refused([](RelayBus& b) { b.capacity = 2 * kCapacityMax; }, "cannot have 8589934592 slots");
  wrong.refused([](RelayBus& b) { b.restamped = 2; }, "restamped is 2, not 0 or 1");
}

TEST_CASE("A wrong beat is refused, and not made") {
  WrongStruct<RelayBeat> wrong(make_beat_message, some_beat());
  wrong.refuses_other_sizes();
  wrong.needs_ids();
  wrong.refused([](RelayBeat& b) { b.journal_state = static_cast<JournalState>(4); },
                "the unknown journal state 4");
  wrong.refused([](RelayBeat& b) { b.publisher = {}; }, "the unknown publisher state 0");
  wrong.refused([](RelayBeat& b) { b.publisher = static_cast<RelayPublisherState>(5); },
                "the unknown publisher state 5");
  wrong.refused(
      [](RelayBeat& b) {
        b.sent_session = id_of(9);
        b.sent = kSequenceMax + 1;
      },
      "sequence 9223372036854775808 was sent");
  wrong.refused([](RelayBeat& b) { b.sent = 0; }, "sequence 0 was sent of session 0202");
  wrong.refused([](RelayBeat& b) { b.sent_session = {}; },
                "sequence 4900 was sent of session 0000");
  wrong.refused([](RelayBeat& b) { b.sent = 5'001; }, "sequence 5001 was sent, and head is 5000");

  RelayBuffer buffer;
  RelayBeat beat = some_beat();
  beat.sent = 6'000;  // of an older journal, which was longer
  beat.sent_session = id_of(9);
  CHECK(make_beat_message(some_origin(), beat, buffer).ok());
  beat.sent = 0;
  beat.sent_session = {};
  beat.flags = 0x80;  // for later releases
  CHECK(parsed(made(make_beat_message(some_origin(), beat, buffer))).beat().flags == 0x80);
}

TEST_CASE("A wrong ask is refused, and not made") {
  WrongStruct<RelayAsk> wrong(make_ask_message, some_ask());
  wrong.refuses_other_sizes();
  wrong.refused([](RelayAsk& a) { a.request = {}; }, "the unknown request 0");
  wrong.refused([](RelayAsk& a) { a.request = static_cast<RelayRequest>(6); },
                "the unknown request 6");
  wrong.refused([](RelayAsk& a) { a.to = static_cast<RelayAskee>(3); },
                "it asks the unknown hosts 3");
  wrong.refused([](RelayAsk& a) { a.first = 0; }, "it asks for records 0 to 20");
  wrong.refused([](RelayAsk& a) { a.last = 9; }, "it asks for records 10 to 9");
  wrong.refused([](RelayAsk& a) { a.last = kSequenceMax + 1; }, "it asks for records 10 to 9223");
  wrong.refused([](RelayAsk& a) { a.file = RelayFile::kMetadata; },
                "request 1 has the unknown file kind 2");
  wrong.refused([](RelayAsk& a) { a = some_ask(RelayRequest::kFile), a.file = {}; },
                "request 3 has the unknown file kind 0");
  wrong.refused(
      [](RelayAsk& a) {
        a = some_ask(RelayRequest::kFile);
        a.file = static_cast<RelayFile>(4);
      },
      "request 3 has the unknown file kind 4");
  wrong.refused([](RelayAsk& a) { a = some_ask(RelayRequest::kFlush), a.last = 0; },
                "it asks for a flush of sequence 0");
  RelayBuffer buffer;
  check_not_made(make_ask_message({}, some_ask(), buffer),
                 "it asks for records and has no journal id");
  check_not_made(make_ask_message({}, some_ask(RelayRequest::kFlush), buffer),
                 "it asks for a flush and has no journal id");
}

TEST_CASE("A wrong answer is refused, and not made") {
  RelayBuffer buffer;
  const Bytes part = noise(900);
  const Bytes message = made(make_answer_message(some_origin(), some_answer(), part, buffer));
  const auto refused = [&](const std::function<void(RelayAnswer&)>& change,
                           const std::string& words) {
    RelayAnswer wrong = some_answer();
    change(wrong);
    check_not_made(make_answer_message(some_origin(), wrong, part, buffer), words);
    Bytes body(sizeof wrong);
    std::memcpy(body.data(), &wrong, sizeof wrong);
    body.insert(body.end(), part.begin(), part.end());
    check_refused(with_body(message, body), words);
  };
  refused([](RelayAnswer& a) { a.request = {}; }, "the unknown request 0");
  refused([](RelayAnswer& a) { a.request = static_cast<RelayRequest>(6); },
          "the unknown request 6");
  refused([](RelayAnswer& a) { a.outcome = {}; }, "the unknown outcome 0");
  refused([](RelayAnswer& a) { a.outcome = static_cast<RelayOutcome>(6); },
          "the unknown outcome 6");
  refused([](RelayAnswer& a) { a.request = RelayRequest::kFlush; },
          "it has 900 bytes of a file that it does not answer with");
  refused([](RelayAnswer& a) { a.outcome = RelayOutcome::kNotHere; }, "900 bytes of a file");
  refused([](RelayAnswer& a) { a.total = 999; },
          "a file of 999 bytes does not have 900 bytes at offset 100");
  refused([](RelayAnswer& a) { a.offset = UINT64_MAX - 10; }, "at offset 18446744073709551605");
  check_refused(with_body(message, noise(31)), "its body has 31 bytes, fewer than 32");
  check_refused(with_header(message, [](RelayHeader& h) { h.count = 0; }), "its count is 0, not 1");
  RelayAnswer other = some_answer();
  other.request = RelayRequest::kFlush;
  other.outcome = RelayOutcome::kOk;
  CHECK(make_answer_message({}, other, {}, buffer).ok());
  const Bytes too_long = noise(kRelayBodyBytesMax - sizeof other + 1);
  other = {.request = RelayRequest::kFile,
           .outcome = RelayOutcome::kOk,
           .token = 1,
           .total = too_long.size(),
           .offset = 0};
  check_not_made(make_answer_message({}, other, too_long, buffer), "longer than 262144");
  CHECK(make_answer_message({}, other, std::span(too_long).subspan(1), buffer).ok());
}

TEST_CASE("Wrong ranges are refused, and not made") {
  RelayBuffer buffer;
  using Ranges = std::vector<RelayAbsent>;
  const Bytes message = made(make_gone_message(some_origin(), some_ranges(), buffer));
  const auto refused = [&](const std::function<void(Ranges&)>& change, const std::string& words) {
    Ranges ranges = some_ranges();
    change(ranges);
    check_not_made(make_gone_message(some_origin(), ranges, buffer), words);
    check_refused(with_body(message, std::as_bytes(std::span(ranges))), words);
  };
  refused([](Ranges& r) { r[0].first = 0; }, "range 0 is from 0 to 100");
  refused([](Ranges& r) { r[2].last = 299; }, "range 2 is from 300 to 299");
  refused([](Ranges& r) { r[2].last = kSequenceMax + 1; }, "range 2 is from 300 to 9223");
  refused([](Ranges& r) { r[1].first = 100; },
          "range 1 begins at 100, and the range before it ends at 100");
  refused([](Ranges& r) { r[1].cause = {}; }, "range 1 has the unknown cause 0");
  refused([](Ranges& r) { r[1].cause = static_cast<RelayAbsence>(4); },
          "range 1 has the unknown cause 4");
  check_not_made(make_gone_message(some_origin(), {}, buffer), "it has no rows");
  check_not_made(make_gone_message({}, some_ranges(), buffer), "it has no journal id");
  check_refused(with_header(message, [](RelayHeader& h) { h.count = 4; }),
                "its body has 72 bytes, but 4 rows of 24 bytes are stated");
}

}  // namespace lapwing
