// Relay messages for tests: a valid value of each kind.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/text_field.h"
#include "relay/message.h"

namespace lapwing {

using Bytes = std::vector<std::byte>;

inline constexpr std::uint32_t kRecordBytes = 56;

inline Id128 id_of(std::uint8_t byte) {
  Id128 id;
  id.bytes.fill(byte);
  return id;
}

inline RelayOrigin some_origin() {
  return {.journal_id = id_of(1),
          .session_id = id_of(2),
          .record_bytes = kRecordBytes,
          .schema_hash = 0x1122334455667788,
          .head = 5'000,
          .durable = 4'000,
          .time_ns = 1'763'650'800'000'000'000,
          .session_row = 7,
          .session_hash = 0x99aabbccddeeff00};
}

// Records that zstd makes shorter.
inline Bytes some_records(std::size_t count, std::size_t record_bytes = kRecordBytes) {
  Bytes bytes(count * record_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i / 8 % 251);
  return bytes;
}

// Bytes that zstd does not make shorter.
inline Bytes noise(std::size_t size) {
  Bytes bytes(size);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1'664'525 + 1'013'904'223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

inline RelaySession some_session(std::uint8_t number) {
  RelaySession session{};
  session.journal_id = id_of(1);
  session.session_id = id_of(static_cast<std::uint8_t>(100 + number));
  session.first = 1 + 1'000 * std::uint64_t{number};
  session.last = session.first + 999;
  session.how = SessionEnd::kClosed;
  session.slot_bytes = 64;
  session.record_bytes = kRecordBytes;
  session.segment_slots = 1 << 20;
  session.source_id = 11;
  session.metadata_hash = 12;
  set_text(session.schema, "dbn.mbo");
  session.begin_row = 3 * std::uint64_t{number};
  session.end_row = session.begin_row + 2;
  session.begin_hash = 13;
  session.end_hash = 14;
  return session;
}

inline RelaySession open_session(std::uint8_t number) {
  RelaySession session = some_session(number);
  session.how = SessionEnd::kNone;
  session.last = session.end_row = session.end_hash = 0;
  return session;
}

inline RelaySession cut_session(std::uint8_t number) {
  RelaySession session = some_session(number);
  session.how = SessionEnd::kCut;
  session.last = session.first + 499;
  session.void_first = session.first + 500;
  session.void_last = session.first + 999;
  return session;
}

inline RelayBus some_bus() {
  RelayBus bus{};
  set_text(bus.name, "es");
  set_text(bus.schema, "dbn.mbo");
  bus.schema_hash = 21;
  bus.metadata_hash = 22;
  bus.record_bytes = kRecordBytes;
  bus.slot_bytes = 64;
  bus.segment_slots = 1 << 20;
  bus.capacity = 1 << 16;
  bus.restamped = 1;
  return bus;
}

inline RelayBeat some_beat() {
  return {.sent_session = id_of(2),
          .sent = 4'900,
          .oldest = 1,
          .journal_state = JournalState::kGood,
          .sys_errno = 0,
          .publisher = RelayPublisherState::kAlive,
          .flags = 0};
}

inline RelayAsk some_ask(RelayRequest request = RelayRequest::kRecords) {
  RelayAsk ask{};
  ask.request = request;
  ask.token = 31;
  if (request == RelayRequest::kRecords) ask.first = 10;
  if (request == RelayRequest::kRecords || request == RelayRequest::kFlush) ask.last = 20;
  if (request == RelayRequest::kFile) ask.file = RelayFile::kMetadata;
  return ask;
}

inline RelayAnswer some_answer() {
  return {.request = RelayRequest::kFile,
          .outcome = RelayOutcome::kPartly,
          .token = 41,
          .total = 1'000,
          .offset = 100};
}

inline std::vector<RelayAbsent> some_ranges() {
  return {{.first = 1, .last = 100, .cause = RelayAbsence::kPruned, .reserved = 0},
          {.first = 101, .last = 101, .cause = RelayAbsence::kDamaged, .reserved = 0},
          {.first = 300, .last = 400, .cause = RelayAbsence::kNeverArchived, .reserved = 0}};
}

}  // namespace lapwing
