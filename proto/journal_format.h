// The journal's files, byte for byte. No behaviour; docs/reference/file-formats.md describes them.
//
//   journal/sessions, journal/sessions.copy     consecutive SessionEntry, the same in both
//   journal/<journal id>/<segment, 20 digits>.jnl   SegmentHeader page, then slots
//   journal/<journal id>/<segment, 20 digits>.sum   one SumEntry per 4 KiB block of slots
//   journal/<journal id>/<segment, 20 digits>.idx   one TimeEntry per sync, appended
//   journal/<journal id>/retention                  RetentionEntry, twice
//   journal/<journal id>/absent                     of a mirror: AbsentEntry, appended
//   journal/schemas/<hash, 16 hex digits>.json      the description of a schema (lapwing/schema.h)
//   journal/metadata/<hash, 16 hex digits>.dbn      the metadata of a feed
//
// Segment k (from 0) contains sequences kK+1 … (k+1)K, where K is a power of two. A slot on disk is
// like a slot of the ring: ready stamp, record, zeros. A slot of zeros has not been written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/detail/enum_names.h"
#include "lapwing/gap.h"
#include "lapwing/sequence.h"
#include "proto/ring_layout.h"

namespace lapwing {

inline constexpr std::uint32_t kJournalVersion = 1;  // segments, sums, time index, retention
// Rows of `sessions`. All rows of a journal have the version of its first row. Version 2 adds
// source_fingerprint and the fields after it, the kind kShortened and the end kUpstream.
inline constexpr std::uint32_t kSessionVersion = 2;
// Rows of a mirror: begins and ends, each with the row of the origin that it repeats. They have no
// boot and no ring, and an open session is reserved without limit.
inline constexpr std::uint32_t kMirrorSessionVersion = 3;
inline constexpr std::uint32_t kSessionVersionMin = 1;
inline constexpr std::uint64_t kSegmentHeaderBytes = kPageBytes;
inline constexpr std::uint64_t kSegmentSlotBytesMin = 64 * 1024;
inline constexpr std::uint64_t kSegmentSlotBytesDefault = 64 * 1024 * 1024;
inline constexpr std::uint64_t kSegmentMagic = 0x314c4e4a57504c;  // "LPWJNL1"

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;  // offset of the first slot
  Id128 journal_id;
  std::uint64_t segment;         // k
  std::uint64_t first_sequence;  // kK + 1
  std::uint64_t slot_count;      // K
  std::uint32_t slot_bytes;
  std::uint32_t record_bytes;
  std::uint64_t created_wall_ns;
  char schema[32];
  std::uint64_t schema_hash;  // of its description in journal/schemas; 0: none
  std::uint8_t reserved[3976];
  std::uint64_t checksum;  // XXH3-64 of the page's first 4,088 bytes
};
static_assert(sizeof(SegmentHeader) == kSegmentHeaderBytes);
static_assert(offsetof(SegmentHeader, version) == 8);
static_assert(offsetof(SegmentHeader, header_bytes) == 12);
static_assert(offsetof(SegmentHeader, journal_id) == 16);
static_assert(offsetof(SegmentHeader, segment) == 32);
static_assert(offsetof(SegmentHeader, first_sequence) == 40);
static_assert(offsetof(SegmentHeader, slot_count) == 48);
static_assert(offsetof(SegmentHeader, slot_bytes) == 56);
static_assert(offsetof(SegmentHeader, record_bytes) == 60);
static_assert(offsetof(SegmentHeader, created_wall_ns) == 64);
static_assert(offsetof(SegmentHeader, schema) == 72);
static_assert(offsetof(SegmentHeader, schema_hash) == 104);
static_assert(offsetof(SegmentHeader, checksum) == 4088);

// The sum of the synced part of a block: its first `count` slots. All zero: nothing was synced yet.
// If a block is rewritten while it fills, its sum remains valid for the prefix that it covers.
struct SumEntry {
  std::uint64_t sum;    // XXH3-64 of the block's first count × slot_bytes bytes
  std::uint32_t count;  // slots
  // Low 32 bits of XXH3-64 over {journal id, absolute block number (u64), sum, count}, and never 0.
  // So a corrupted count is detected as damage and is not accepted as a shorter prefix.
  std::uint32_t check;
};
static_assert(sizeof(SumEntry) == 16);
static_assert(offsetof(SumEntry, count) == 8);
static_assert(offsetof(SumEntry, check) == 12);

// At `wall_ns` (UTC), every sequence up to `sequence` had been published. Values never decrease.
struct TimeEntry {
  std::uint64_t sequence;
  std::uint64_t wall_ns;
  std::uint64_t reserved;
  std::uint64_t check;  // XXH3-64 of the 24 bytes before, seed: the journal id's first 8 bytes
};
static_assert(sizeof(TimeEntry) == 32);
static_assert(offsetof(TimeEntry, wall_ns) == 8);
static_assert(offsetof(TimeEntry, check) == 24);

inline constexpr std::size_t kRetentionEntryBytes = 512;  // one sector: never torn

// The oldest sequence that retention keeps. It is synced before a file below it is unlinked. Both
// copies are written at once. It never decreases, so the valid copy with the higher value applies.
struct RetentionEntry {
  std::uint32_t version;
  std::uint32_t reserved;
  Id128 journal_id;
  std::uint64_t oldest;  // the first sequence of a segment
  // For a failed journal, the newest sequence that its last session published, reported by the
  // publisher or found in its ring; 0: unknown.
  std::uint64_t published;
  std::uint8_t reserved_tail[464];
  std::uint64_t checksum;  // XXH3-64 of the entry's first 504 bytes
};
static_assert(sizeof(RetentionEntry) == kRetentionEntryBytes);
static_assert(offsetof(RetentionEntry, journal_id) == 8);
static_assert(offsetof(RetentionEntry, oldest) == 24);
static_assert(offsetof(RetentionEntry, published) == 32);
static_assert(offsetof(RetentionEntry, checksum) == 504);

// Sequences that a mirror does not have because its origin does not have them and never will. Rows
// ascend and do not overlap. A range ends with a block or with its session, and is synced before any
// record after it.
struct AbsentEntry {
  std::uint64_t first;
  std::uint64_t last;
  GapCause cause;  // of the gap that readers get
  std::uint32_t reserved;
  std::uint64_t check;  // XXH3-64 of the 24 bytes before, seed: the journal id's first 8 bytes
};
static_assert(sizeof(AbsentEntry) == 32);
static_assert(offsetof(AbsentEntry, last) == 8);
static_assert(offsetof(AbsentEntry, cause) == 16);
static_assert(offsetof(AbsentEntry, check) == 24);

enum class SessionEntryKind : std::uint32_t {
  kBegin = 1,    // synced before the session's first record
  kReserve = 2,  // synced before any sequence beyond the old reservation is used
  kEnd = 3,
  kShortened = 4,  // replaces row 0 after a start has dropped it and rows 1 … through - 1
};

enum class SessionEnd : std::uint32_t {
  kNone = 0,
  kClosed = 1,     // a clean close: everything is durable
  kRecovered = 2,  // killed; the missing records were in the ring file
  kCut = 3,        // power cut or no ring file: cut at durable, the rest reserved is a void
  kFailed = 4,     // the journal failed; the next session begins a new journal id
  kUpstream = 5,   // a mirrored bus: its origin ended the session; missing records are a void
};

constexpr const char* name_of(SessionEnd end) {
  constexpr detail::EnumName<SessionEnd> kNames[] = {{SessionEnd::kClosed, "closed"},
                                                     {SessionEnd::kRecovered, "recovered"},
                                                     {SessionEnd::kCut, "cut"},
                                                     {SessionEnd::kFailed, "failed"},
                                                     {SessionEnd::kUpstream, "upstream"}};
  return detail::name_in(kNames, end);
}

inline constexpr std::size_t kSessionEntryBytes = 512;  // one sector: never torn

struct SessionEntry {
  std::uint32_t version;
  SessionEntryKind kind;
  std::uint64_t index;  // 0, 1, 2 … over the whole file: the offset divided by 512
  Id128 journal_id;
  Id128 session_id;
  Id128 boot_id;        // begin
  std::uint64_t first;  // begin: the session's first sequence
  // reserve: last sequence that may be used, a multiple of B; shortened: the next row's index
  std::uint64_t through;
  std::uint64_t last;        // end: the session's last sequence; first - 1 if it has none
  std::uint64_t void_first;  // end: the void that follows `last`, 0 if there is none
  std::uint64_t void_last;
  SessionEnd how;                    // end
  std::uint32_t slot_bytes;          // begin
  std::uint32_t record_bytes;        // begin
  std::uint32_t sys_errno;           // end, failed
  std::uint64_t segment_slots;       // begin: K
  std::uint64_t source_id;           // begin: the feed; 0: it cannot be resumed
  std::uint64_t source_offset;       // begin: the feed's position before the session's first record
  std::uint64_t wall_ns;             // when the entry was written, UTC
  char schema[32];                   // begin
  char ring_path[256];               // begin: the session's ring file, for recovery
  std::uint64_t schema_hash;         // begin: of its description in journal/schemas; 0: none
  std::uint64_t source_fingerprint;  // begin: of the feed's metadata and first record; 0: unknown
  std::uint64_t metadata_hash;       // begin: of the feed's metadata in journal/metadata; 0: none
  std::uint64_t previous_hash;       // XXH3-64 of the 512 bytes of the previous row; row 0: 0
  // Version 3: index and XXH3-64 of the row of the origin that this row repeats. 0 in rows that the
  // mirror wrote itself when it was detached from its origin.
  std::uint64_t origin_row;
  std::uint64_t origin_hash;
  std::uint8_t reserved[16];
  std::uint64_t checksum;  // XXH3-64 of the entry's first 504 bytes
};
static_assert(sizeof(SessionEntry) == kSessionEntryBytes);
static_assert(offsetof(SessionEntry, kind) == 4);
static_assert(offsetof(SessionEntry, index) == 8);
static_assert(offsetof(SessionEntry, journal_id) == 16);
static_assert(offsetof(SessionEntry, session_id) == 32);
static_assert(offsetof(SessionEntry, boot_id) == 48);
static_assert(offsetof(SessionEntry, first) == 64);
static_assert(offsetof(SessionEntry, through) == 72);
static_assert(offsetof(SessionEntry, last) == 80);
static_assert(offsetof(SessionEntry, void_first) == 88);
static_assert(offsetof(SessionEntry, void_last) == 96);
static_assert(offsetof(SessionEntry, how) == 104);
static_assert(offsetof(SessionEntry, slot_bytes) == 108);
static_assert(offsetof(SessionEntry, record_bytes) == 112);
static_assert(offsetof(SessionEntry, sys_errno) == 116);
static_assert(offsetof(SessionEntry, segment_slots) == 120);
static_assert(offsetof(SessionEntry, source_id) == 128);
static_assert(offsetof(SessionEntry, source_offset) == 136);
static_assert(offsetof(SessionEntry, wall_ns) == 144);
static_assert(offsetof(SessionEntry, schema) == 152);
static_assert(offsetof(SessionEntry, ring_path) == 184);
static_assert(offsetof(SessionEntry, schema_hash) == 440);
static_assert(offsetof(SessionEntry, source_fingerprint) == 448);
static_assert(offsetof(SessionEntry, metadata_hash) == 456);
static_assert(offsetof(SessionEntry, previous_hash) == 464);
static_assert(offsetof(SessionEntry, origin_row) == 472);
static_assert(offsetof(SessionEntry, origin_hash) == 480);
static_assert(offsetof(SessionEntry, checksum) == 504);

}  // namespace lapwing
