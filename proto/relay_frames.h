// The messages that a relay sends from one host to another, byte for byte. No behaviour; the document
// is docs/reference/wire-format.md, section "Relay messages".
//
//   0        RelayHeader
//   128      body: body_bytes bytes. With kRelayFlagZstd one zstd frame of raw_bytes bytes
//
//   records   count records of record_bytes bytes, end to end
//   sessions  count RelaySession
//   bus       RelayBus
//   beat      RelayBeat
//   ask       RelayAsk
//   answer    RelayAnswer, then for a file its bytes from RelayAnswer::offset on
//   gone      count RelayAbsent
//
// The origin is the host whose publisher made the records. A mirror is a bus directory on another
// host that has the origin's journal id, sessions and sequences.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/detail/enum_names.h"
#include "lapwing/journal_state.h"
#include "lapwing/sequence.h"
#include "proto/journal_format.h"

namespace lapwing {

inline constexpr std::uint32_t kRelayMagic = 0x5257504c;  // "LPWR"
// A receiver reads kRelayVersionMin to kRelayVersion: the version before its own and its own.
inline constexpr std::uint16_t kRelayVersion = 1;
inline constexpr std::uint16_t kRelayVersionMin = 1;
inline constexpr std::uint32_t kRelayRecordsMax = 1000;          // in one message
inline constexpr std::uint32_t kRelayBodyBytesMax = 256 * 1024;  // uncompressed
inline constexpr std::size_t kRelayNameBytesMax = 63;            // of a bus, before it is escaped

// A receiver that does not know the kind of a message with this flag skips the message. For later
// versions: no kind of version 1 has the flag.
inline constexpr std::uint32_t kRelayFlagSkippable = 1;
inline constexpr std::uint32_t kRelayFlagZstd = 2;  // the body is one zstd frame

enum class RelayKind : std::uint16_t {
  kRecords = 1,
  kSessions = 2,
  kBus = 3,
  kBeat = 4,
  kAsk = 5,
  kAnswer = 6,
  kGone = 7,
};

constexpr const char* name_of(RelayKind kind) {
  constexpr detail::EnumName<RelayKind> kNames[] = {
      {RelayKind::kRecords, "records"}, {RelayKind::kSessions, "sessions"},
      {RelayKind::kBus, "bus"},         {RelayKind::kBeat, "beat"},
      {RelayKind::kAsk, "ask"},         {RelayKind::kAnswer, "answer"},
      {RelayKind::kGone, "gone"}};
  return detail::name_in(kNames, kind);
}

// magic, version and sum have these offsets in every version, and sum covers all other bytes. So a
// receiver distinguishes a message of another version from a damaged one.
struct RelayHeader {
  std::uint32_t magic;
  std::uint16_t version;
  RelayKind kind;
  std::uint32_t flags;
  std::uint32_t reserved;
  Id128 journal_id;            // records, gone, ask for records: their journal. Else the newest one
  Id128 session_id;            // records: their session. Else the newest one
  std::uint64_t first;         // records: first sequence; sessions: sessions before row 0; else 0
  std::uint32_t count;         // records or rows; 1 in bus, beat, ask and answer
  std::uint32_t record_bytes;  // in the session session_id
  std::uint64_t schema_hash;   // of the description of that session's records; 0: none
  std::uint64_t head;          // of the origin's newest journal; 0 in an ask
  std::uint64_t durable;       // of that journal, at most `head`
  std::uint64_t time_ns;       // UTC, by the origin's clock or, for older records, its time index
  // The newest begin or end row of the origin's `sessions`: its index, and the XXH3-64 of its 512
  // bytes. Each row contains the hash of the row before it, so this identifies all rows.
  std::uint64_t session_row;
  std::uint64_t session_hash;
  std::uint32_t body_bytes;  // as sent
  std::uint32_t raw_bytes;   // uncompressed; equal to body_bytes without kRelayFlagZstd
  std::uint64_t sum;  // XXH3-64 of the body as sent, seed: XXH3-64 of the 120 bytes before this
};
static_assert(sizeof(RelayHeader) == 128);
static_assert(offsetof(RelayHeader, version) == 4);
static_assert(offsetof(RelayHeader, kind) == 6);
static_assert(offsetof(RelayHeader, flags) == 8);
static_assert(offsetof(RelayHeader, journal_id) == 16);
static_assert(offsetof(RelayHeader, session_id) == 32);
static_assert(offsetof(RelayHeader, first) == 48);
static_assert(offsetof(RelayHeader, count) == 56);
static_assert(offsetof(RelayHeader, record_bytes) == 60);
static_assert(offsetof(RelayHeader, schema_hash) == 64);
static_assert(offsetof(RelayHeader, head) == 72);
static_assert(offsetof(RelayHeader, durable) == 80);
static_assert(offsetof(RelayHeader, time_ns) == 88);
static_assert(offsetof(RelayHeader, session_row) == 96);
static_assert(offsetof(RelayHeader, session_hash) == 104);
static_assert(offsetof(RelayHeader, body_bytes) == 112);
static_assert(offsetof(RelayHeader, raw_bytes) == 116);
static_assert(offsetof(RelayHeader, sum) == 120);

inline constexpr std::size_t kRelayMessageBytesMax = sizeof(RelayHeader) + kRelayBodyBytesMax;

// The begin row of a session and, if it has ended, its end row. Without the values that each host has
// for itself: index, boot, ring path and clock.
struct RelaySession {
  Id128 journal_id;
  Id128 session_id;
  std::uint64_t first;
  std::uint64_t last;  // from here to void_last: of the end; 0 in an open session
  std::uint64_t void_first;
  std::uint64_t void_last;
  SessionEnd how;  // kNone: the session is open
  std::uint32_t sys_errno;
  std::uint32_t slot_bytes;
  std::uint32_t record_bytes;
  std::uint64_t segment_slots;
  std::uint64_t source_id;
  std::uint64_t source_offset;
  std::uint64_t source_fingerprint;
  std::uint64_t schema_hash;
  std::uint64_t metadata_hash;
  char schema[32];
  // The rows in the origin's `sessions`: index, and XXH3-64 of their 512 bytes.
  std::uint64_t begin_row;
  std::uint64_t begin_hash;
  std::uint64_t end_row;  // and end_hash: 0 in an open session
  std::uint64_t end_hash;
  std::uint64_t begin_wall_ns;  // when the origin wrote the begin row
  std::uint64_t end_wall_ns;    // and the end row; 0 in an open session
};
static_assert(sizeof(RelaySession) == 208);
static_assert(offsetof(RelaySession, session_id) == 16);
static_assert(offsetof(RelaySession, first) == 32);
static_assert(offsetof(RelaySession, last) == 40);
static_assert(offsetof(RelaySession, void_first) == 48);
static_assert(offsetof(RelaySession, void_last) == 56);
static_assert(offsetof(RelaySession, how) == 64);
static_assert(offsetof(RelaySession, sys_errno) == 68);
static_assert(offsetof(RelaySession, slot_bytes) == 72);
static_assert(offsetof(RelaySession, record_bytes) == 76);
static_assert(offsetof(RelaySession, segment_slots) == 80);
static_assert(offsetof(RelaySession, source_id) == 88);
static_assert(offsetof(RelaySession, source_offset) == 96);
static_assert(offsetof(RelaySession, source_fingerprint) == 104);
static_assert(offsetof(RelaySession, schema_hash) == 112);
static_assert(offsetof(RelaySession, metadata_hash) == 120);
static_assert(offsetof(RelaySession, schema) == 128);
static_assert(offsetof(RelaySession, begin_row) == 160);
static_assert(offsetof(RelaySession, begin_hash) == 168);
static_assert(offsetof(RelaySession, end_row) == 176);
static_assert(offsetof(RelaySession, end_hash) == 184);
static_assert(offsetof(RelaySession, begin_wall_ns) == 192);
static_assert(offsetof(RelaySession, end_wall_ns) == 200);

// The values from which a mirror makes its ring and bus.json.
struct RelayBus {
  char name[64];    // the origin's name of the bus
  char schema[32];  // and the next four: of the newest session
  std::uint64_t schema_hash;
  std::uint64_t metadata_hash;
  std::uint32_t record_bytes;
  std::uint32_t slot_bytes;
  std::uint64_t segment_slots;
  std::uint64_t capacity;   // slots of the origin's ring
  std::uint32_t restamped;  // 1 or 0, as in bus.json
  std::uint32_t reserved;
};
static_assert(sizeof(RelayBus) == 144);
static_assert(offsetof(RelayBus, schema) == 64);
static_assert(offsetof(RelayBus, schema_hash) == 96);
static_assert(offsetof(RelayBus, metadata_hash) == 104);
static_assert(offsetof(RelayBus, record_bytes) == 112);
static_assert(offsetof(RelayBus, slot_bytes) == 116);
static_assert(offsetof(RelayBus, segment_slots) == 120);
static_assert(offsetof(RelayBus, capacity) == 128);
static_assert(offsetof(RelayBus, restamped) == 136);

enum class RelayPublisherState : std::uint32_t {
  kAlive = 1,
  kSilent = 2,  // its heartbeat has stopped, and it may still run
  kClosed = 3,
  kDead = 4,  // it ended without closing
};

struct RelayBeat {
  Id128 sent_session;    // of `sent`; zeros: nothing was sent yet
  std::uint64_t sent;    // the newest sequence that is in a records message
  std::uint64_t oldest;  // the oldest sequence that the newest journal retains
  JournalState journal_state;
  std::int32_t sys_errno;  // of a failed journal
  RelayPublisherState publisher;
  std::uint32_t flags;  // none is defined: 0, and a receiver ignores it
};
static_assert(sizeof(RelayBeat) == 48);
static_assert(offsetof(RelayBeat, sent) == 16);
static_assert(offsetof(RelayBeat, oldest) == 24);
static_assert(offsetof(RelayBeat, journal_state) == 32);
static_assert(offsetof(RelayBeat, sys_errno) == 36);
static_assert(offsetof(RelayBeat, publisher) == 40);
static_assert(offsetof(RelayBeat, flags) == 44);

enum class RelayRequest : std::uint32_t {
  kRecords = 1,   // answered by records and gone messages
  kSessions = 2,  // answered by sessions messages
  kFile = 3,      // answered by answers that contain the bytes
  kFlush = 4,     // answered once `durable` has reached the sequence
  kBus = 5,       // answered by a bus message
};

enum class RelayFile : std::uint32_t {
  kDescription = 1,  // journal/schemas/<hash>.json
  kMetadata = 2,     // journal/metadata/<hash>.dbn
  kCheckpoint = 3,   // `hash` is the checksum in its header
};

// Who answers. Every host hears an ask, and the others ignore it.
enum class RelayAskee : std::uint32_t {
  kAll = 0,      // every host that can
  kMirrors = 1,  // mirrors that serve
  kOrigin = 2,
};

struct RelayAsk {
  RelayRequest request;
  RelayFile file;        // file: which kind. Else 0
  std::uint64_t token;   // the answer contains it
  std::uint64_t first;   // records: first sequence; sessions: sessions before the first wanted one
  std::uint64_t last;    // records: last sequence; flush: the sequence to make durable
  std::uint64_t hash;    // file: its hash
  std::uint64_t offset;  // file: first byte wanted
  std::uint64_t bytes_max;  // of all bodies of the answer; 0: as many as the other side chooses
  RelayAskee to;
  std::uint32_t reserved;
};
static_assert(sizeof(RelayAsk) == 64);
static_assert(offsetof(RelayAsk, file) == 4);
static_assert(offsetof(RelayAsk, token) == 8);
static_assert(offsetof(RelayAsk, first) == 16);
static_assert(offsetof(RelayAsk, last) == 24);
static_assert(offsetof(RelayAsk, hash) == 32);
static_assert(offsetof(RelayAsk, offset) == 40);
static_assert(offsetof(RelayAsk, bytes_max) == 48);
static_assert(offsetof(RelayAsk, to) == 56);

enum class RelayOutcome : std::uint32_t {
  kOk = 1,
  kPartly = 2,   // there is more: ask again for the rest
  kNotHere = 3,  // the sender does not have it, and another host may
  kBusy = 4,     // ask again later
  kRefused = 5,
};

// The last message of an answer. For a file each part is an answer of its own.
struct RelayAnswer {
  RelayRequest request;
  RelayOutcome outcome;
  std::uint64_t token;   // of the ask
  std::uint64_t total;   // file: its size; records, sessions: number sent before this message
  std::uint64_t offset;  // file: where the bytes behind this struct are in it
};
static_assert(sizeof(RelayAnswer) == 32);
static_assert(offsetof(RelayAnswer, outcome) == 4);
static_assert(offsetof(RelayAnswer, token) == 8);
static_assert(offsetof(RelayAnswer, total) == 16);
static_assert(offsetof(RelayAnswer, offset) == 24);

enum class RelayAbsence : std::uint32_t {
  kPruned = 1,
  kDamaged = 2,
  kNeverArchived = 3,
};

// Sequences that the origin does not have and will never have. A void is not one: it is in the end of
// its session.
struct RelayAbsent {
  std::uint64_t first;
  std::uint64_t last;
  RelayAbsence cause;
  std::uint32_t reserved;
};
static_assert(sizeof(RelayAbsent) == 24);
static_assert(offsetof(RelayAbsent, last) == 8);
static_assert(offsetof(RelayAbsent, cause) == 16);

}  // namespace lapwing
