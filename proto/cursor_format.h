// A cursor's file, byte for byte. No behaviour; docs/reference/file-formats.md describes it.
//
//   0       CursorEntry, then zeros
//   4,096   CursorEntry, then zeros
//
// The two copies are written alternately. Each has its own page, so that a write to one copy, by
// the page cache or the device, does not touch the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/sequence.h"
#include "proto/ring_layout.h"

namespace lapwing {

inline constexpr std::uint32_t kCursorVersion = 1;
inline constexpr std::size_t kCursorCopies = 2;
inline constexpr std::size_t kCursorCopyBytes = kPageBytes;
inline constexpr std::size_t kCursorFileBytes = kCursorCopies * kCursorCopyBytes;
inline constexpr std::uint64_t kCursorMagic = 0x3152554357504c;  // "LPWCUR1"

// Every version has magic, version and checksum at these offsets, so that a reader can distinguish
// a later version from damage.
struct CursorEntry {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint64_t generation;  // incremented by each commit; the first copy has the even ones
  Id128 journal_id;
  Id128 session_id;
  std::uint64_t sequence;  // kNoSequence: nothing has been committed yet
  std::uint64_t output_bytes;
  std::uint64_t output_file;
  std::uint64_t written_wall_ns;
  std::uint8_t reserved_tail[32];
  std::uint64_t checksum;  // XXH3-64 of the entry's first 120 bytes
};
static_assert(sizeof(CursorEntry) == 128);
static_assert(offsetof(CursorEntry, version) == 8);
static_assert(offsetof(CursorEntry, generation) == 16);
static_assert(offsetof(CursorEntry, journal_id) == 24);
static_assert(offsetof(CursorEntry, session_id) == 40);
static_assert(offsetof(CursorEntry, sequence) == 56);
static_assert(offsetof(CursorEntry, output_bytes) == 64);
static_assert(offsetof(CursorEntry, output_file) == 72);
static_assert(offsetof(CursorEntry, written_wall_ns) == 80);
static_assert(offsetof(CursorEntry, checksum) == 120);

}  // namespace lapwing
