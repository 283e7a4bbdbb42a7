// The ring file, byte for byte. No behaviour; the slot protocol over it is
// lapwing/detail/slot_words.h, the document is docs/reference/file-formats.md.
//
//   page 0      RingHeader  written once, before the file gets its final name
//   page 1      RingWords   one value per 128 bytes, written by the publisher's process only: where the
//                           bus stands, and behind that what it has counted
//   page 2 on   slots       capacity × slot_bytes; sequence n lives in slot (n - 1) mod capacity
//
// Whoever attaches copies RingHeader once, checks the copy, and derives every bound from the copy.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lapwing/detail/memory_layout.h"
#include "lapwing/detail/slot_layout.h"
#include "lapwing/journal_state.h"
#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::uint32_t kRecordBytesMin = 8;
inline constexpr std::uint32_t kRecordBytesMax = 4088;
inline constexpr std::uint32_t kRecordBytesDefault = 56;
inline constexpr std::uint32_t kSlotBytesMax = 4096;
inline constexpr std::uint64_t kCapacityMin = 64;              // slots
inline constexpr std::uint64_t kSlotAreaBytesMin = 64 * 1024;  // capacity × slot_bytes
inline constexpr std::uint64_t kCapacityMax = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kCapacityDefaultMax = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kHeartbeatIntervalNs = 1'000'000'000;

// Slots in one 4 KiB block, the unit in which the journal is written and summed.
constexpr std::uint64_t slots_per_block(std::uint32_t slot_bytes) {
  return kPageBytes / slot_bytes;
}

// The smallest ring of such slots: kCapacityMin slots and kSlotAreaBytesMin bytes of them.
constexpr std::uint64_t capacity_min(std::uint32_t slot_bytes) {
  const std::uint64_t by_area = kSlotAreaBytesMin / slot_bytes;
  return by_area > kCapacityMin ? by_area : kCapacityMin;
}

inline constexpr std::uint64_t kRingMagic = 0x31474e5257504c;  // "LPWRNG1" in little-endian order

struct RingHeader {
  std::uint64_t magic;
  std::uint32_t abi_version;
  std::uint32_t header_bytes;  // offset of slot 0: pages 0 and 1
  std::uint64_t feature_bits;  // none defined; an attacher refuses any it does not know
  std::uint32_t slot_bytes;
  std::uint32_t record_bytes;
  std::uint64_t capacity;  // slots, a power of two
  Id128 journal_id;
  Id128 session_id;
  Id128 boot_id;
  std::uint64_t session_first_sequence;
  std::uint64_t ring_first_sequence;  // lowest sequence ever placed in this file
  std::uint64_t created_wall_ns;      // UTC
  std::uint32_t publisher_pid;
  std::uint32_t has_journal;  // 1 or 0
  char schema[32];
  char bus_name[64];
  // Whose ring this is: the directory with the journal, or without one the bus directory. A copy is
  // another directory, and has no ring.
  std::uint64_t directory_device;  // st_dev
  std::uint64_t directory_inode;   // st_ino
  std::uint64_t schema_hash;       // of the description of `schema` (lapwing/schema.h); 0: none
  // In which publisher_pid and the heartbeat are valid: inodes of /proc/self/ns; 0: not said.
  std::uint64_t publisher_pid_namespace;
  std::uint64_t publisher_time_namespace;
  std::uint8_t reserved[3832];
  std::uint64_t checksum;  // XXH3-64 of the page's first 4,088 bytes
};
static_assert(sizeof(RingHeader) == kPageBytes);
static_assert(offsetof(RingHeader, abi_version) == 8);
static_assert(offsetof(RingHeader, header_bytes) == 12);
static_assert(offsetof(RingHeader, feature_bits) == 16);
static_assert(offsetof(RingHeader, slot_bytes) == 24);
static_assert(offsetof(RingHeader, record_bytes) == 28);
static_assert(offsetof(RingHeader, capacity) == 32);
static_assert(offsetof(RingHeader, journal_id) == 40);
static_assert(offsetof(RingHeader, session_id) == 56);
static_assert(offsetof(RingHeader, boot_id) == 72);
static_assert(offsetof(RingHeader, session_first_sequence) == 88);
static_assert(offsetof(RingHeader, ring_first_sequence) == 96);
static_assert(offsetof(RingHeader, created_wall_ns) == 104);
static_assert(offsetof(RingHeader, publisher_pid) == 112);
static_assert(offsetof(RingHeader, has_journal) == 116);
static_assert(offsetof(RingHeader, schema) == 120);
static_assert(offsetof(RingHeader, bus_name) == 152);
static_assert(offsetof(RingHeader, directory_device) == 216);
static_assert(offsetof(RingHeader, directory_inode) == 224);
static_assert(offsetof(RingHeader, schema_hash) == 232);
static_assert(offsetof(RingHeader, publisher_pid_namespace) == 240);
static_assert(offsetof(RingHeader, publisher_time_namespace) == 248);
static_assert(offsetof(RingHeader, checksum) == 4088);

enum class RingState : std::uint64_t { kRunning = 1, kClosed = 2 };

// How long something that recurs took: `counts[i]` of them took at most 2^i µs and more than half of
// that, the last one whatever is longer. Readers find counts and sum of different moments.
inline constexpr std::size_t kDurationCounts = 24;
inline constexpr std::uint64_t kDurationFirstNs = 1'000;  // the upper limit of counts[0]

struct alignas(kWordStride) RingDurations {
  std::uint64_t counts[kDurationCounts];
  std::uint64_t sum_ns;
  std::uint8_t padding[2 * kWordStride - (kDurationCounts + 1) * sizeof(std::uint64_t)];
};
static_assert(sizeof(RingDurations) == 2 * kWordStride);
static_assert(offsetof(RingDurations, sum_ns) == 192);

struct RingWords {
  PaddedWord head;           // newest published sequence
  PaddedWord doorbell;       // low 32 bits: futex word, changed before every wake
  PaddedWord archived;       // every sequence up to here is in the journal's files
  PaddedWord durable;        // … and has survived a sync
  PaddedWord oldest;         // oldest sequence the journal retains
  PaddedWord journal_state;  // low 32 bits: JournalState; high 32 bits: errno
  PaddedWord heartbeat;      // CLOCK_MONOTONIC ns, renewed at least every kHeartbeatIntervalNs
  PaddedWord state;          // RingState
  // What is counted from the session's start, by proto/ring_counters.h.
  PaddedWord counters_kept;  // 1: the following are; 0: by a publisher that did not have them yet
  PaddedWord idle_wakes;     // of the publisher's own threads, one per sleeper and idle period
  PaddedWord doorbells;      // wakes of parked subscribers
  PaddedWord subscribers;    // connected now
  PaddedWord gaps;           // that subscribers have reported, those that are gone included
  PaddedWord lost;           // records, likewise
  PaddedWord journal_bytes;  // written to the journal's segments
  RingDurations stalls;      // publish waited for the journal
  RingDurations syncs;       // from the begin of a sync to durable
  std::uint8_t reserved[kPageBytes - 19 * kWordStride];
};
static_assert(sizeof(RingWords) == kPageBytes);
static_assert(offsetof(RingWords, head) == 0);
static_assert(offsetof(RingWords, doorbell) == 128);
static_assert(offsetof(RingWords, archived) == 256);
static_assert(offsetof(RingWords, durable) == 384);
static_assert(offsetof(RingWords, oldest) == 512);
static_assert(offsetof(RingWords, journal_state) == 640);
static_assert(offsetof(RingWords, heartbeat) == 768);
static_assert(offsetof(RingWords, state) == 896);
static_assert(offsetof(RingWords, counters_kept) == 1024);
static_assert(offsetof(RingWords, idle_wakes) == 1152);
static_assert(offsetof(RingWords, doorbells) == 1280);
static_assert(offsetof(RingWords, subscribers) == 1408);
static_assert(offsetof(RingWords, gaps) == 1536);
static_assert(offsetof(RingWords, lost) == 1664);
static_assert(offsetof(RingWords, journal_bytes) == 1792);
static_assert(offsetof(RingWords, stalls) == 1920);
static_assert(offsetof(RingWords, syncs) == 2176);

inline constexpr std::uint32_t kRingHeaderBytes = 2 * kPageBytes;

// Bytes of the whole file.
constexpr std::uint64_t ring_file_bytes(std::uint64_t capacity, std::uint32_t slot_bytes) {
  return kRingHeaderBytes + capacity * slot_bytes;
}

}  // namespace lapwing
