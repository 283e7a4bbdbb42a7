// The head of a record file, byte for byte. No behaviour; docs/reference/file-formats.md describes
// it.
//
//   RecordFileHeader   128 bytes
//   description        description_bytes of text: Schema::text() (lapwing/schema.h); may be empty
//   zeros              up to header_bytes
//   records            record_bytes each, end to end, up to the end of the file
//
// There is nothing between the records, so a file is an array of records that can be mapped. The
// first record begins at a multiple of 64 bytes. The state for continuing a recording is in a
// separate file, FILE.position. Records have no checksums except those of zstd.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing {

inline constexpr std::uint32_t kRecordFileVersion = 1;
inline constexpr std::uint64_t kRecordFileMagic = 0x3143455257504c;  // "LPWREC1"
inline constexpr std::uint32_t kRecordFileAlignment = 64;            // of the first record, bytes

struct RecordFileHeader {
  std::uint64_t magic;
  std::uint32_t version;
  // Offset of the first record: the end of the description, rounded up to kRecordFileAlignment.
  std::uint32_t header_bytes;
  std::uint32_t record_bytes;
  std::uint32_t description_bytes;  // 0: the records are not described
  std::uint64_t schema_hash;        // of the description; 0: there is none
  char schema[32];                  // of the bus
  std::uint8_t reserved[56];
  std::uint64_t checksum;  // XXH3-64 of the header's first 120 bytes
};
static_assert(sizeof(RecordFileHeader) == 128);
static_assert(offsetof(RecordFileHeader, version) == 8);
static_assert(offsetof(RecordFileHeader, header_bytes) == 12);
static_assert(offsetof(RecordFileHeader, record_bytes) == 16);
static_assert(offsetof(RecordFileHeader, description_bytes) == 20);
static_assert(offsetof(RecordFileHeader, schema_hash) == 24);
static_assert(offsetof(RecordFileHeader, schema) == 32);
static_assert(offsetof(RecordFileHeader, checksum) == 120);

}  // namespace lapwing
