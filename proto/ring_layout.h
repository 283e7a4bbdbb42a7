// The ring file, byte for byte. No behaviour; lapwing/detail/slot_words.h contains its slot
// protocol, and docs/reference/file-formats.md describes the file.
//
//   page 0      RingHeader  written once, before the file gets its final name
//   page 1      RingWords   one value per 128 bytes, written by the publisher's process only: the
//                           state of the bus, then its counters
//   page 2 on   slots       capacity × slot_bytes; sequence n is in slot (n - 1) mod capacity
//
// A process that attaches copies RingHeader once, checks the copy, and derives all bounds from it.
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

// Returns the number of slots in a 4 KiB block, the unit in which the journal is written and
// summed.
constexpr std::uint64_t slots_per_block(std::uint32_t slot_bytes) {
  return kPageBytes / slot_bytes;
}

// Returns the smallest capacity with slots of this size: at least kCapacityMin slots and
// kSlotAreaBytesMin bytes.
constexpr std::uint64_t capacity_min(std::uint32_t slot_bytes) {
  const std::uint64_t by_area = kSlotAreaBytesMin / slot_bytes;
  return by_area > kCapacityMin ? by_area : kCapacityMin;
}

inline constexpr std::uint64_t kRingMagic = 0x31474e5257504c;  // "LPWRNG1" in little-endian order

struct RingHeader {
  std::uint64_t magic;
  std::uint32_t abi_version;
  std::uint32_t header_bytes;  // offset of slot 0: pages 0 and 1
  std::uint64_t feature_bits;  // none defined; unknown bits are refused when attaching
  std::uint32_t slot_bytes;
  std::uint32_t record_bytes;
  std::uint64_t capacity;  // slots, a power of two
  Id128 journal_id;
  Id128 session_id;
  Id128 boot_id;
  std::uint64_t session_first_sequence;
  std::uint64_t ring_first_sequence;  // lowest sequence ever stored in this file
  std::uint64_t created_wall_ns;      // UTC
  std::uint32_t publisher_pid;
  std::uint32_t has_journal;  // 1 or 0
  char schema[32];
  char bus_name[64];
  // The directory that the ring belongs to: the one with the journal, or without a journal the bus
  // directory. A copy of a directory is a different directory, and has no ring.
  std::uint64_t directory_device;  // st_dev
  std::uint64_t directory_inode;   // st_ino
  std::uint64_t schema_hash;       // of the description of `schema` (lapwing/schema.h); 0: none
  // The namespaces in which publisher_pid and the heartbeat are valid: inodes of /proc/self/ns; 0:
  // unknown.
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

// A histogram of durations. `counts[i]` of them took at most 2^i µs and more than half of that; the
// last count includes all longer ones. Readers may see counts and sum from different moments.
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
  PaddedWord doorbell;       // low 32 bits: futex word, changed before every wake-up
  PaddedWord archived;       // every sequence up to here is in the journal's files
  PaddedWord durable;        // the same, and synced
  PaddedWord oldest;         // oldest sequence that the journal retains
  PaddedWord journal_state;  // low 32 bits: JournalState; high 32 bits: errno
  PaddedWord heartbeat;      // CLOCK_MONOTONIC ns, renewed at least every kHeartbeatIntervalNs
  PaddedWord state;          // RingState
  // Counted since the session's start; see proto/ring_counters.h.
  PaddedWord counters_kept;  // 1: the following are valid; 0: an older publisher without them
  PaddedWord idle_wakes;     // of the publisher's threads, one per sleeper and idle period
  PaddedWord doorbells;      // wake-ups of parked subscribers
  PaddedWord subscribers;    // connected now
  PaddedWord gaps;           // reported by subscribers, including disconnected ones
  PaddedWord lost;           // records, reported in the same way
  PaddedWord journal_bytes;  // written to the journal's segments
  RingDurations stalls;      // waits of publish for the journal
  RingDurations syncs;       // from the beginning of a sync until `durable` is stored
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

// Returns the size of the whole file in bytes.
constexpr std::uint64_t ring_file_bytes(std::uint64_t capacity, std::uint32_t slot_bytes) {
  return kRingHeaderBytes + capacity * slot_bytes;
}

}  // namespace lapwing
