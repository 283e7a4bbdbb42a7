// Record files: records of one size after a head that describes them, for schemas that DBN does not
// have. This file implements the head (proto/record_file_format.h). record_writer.h writes the
// records after it, and record_file_reader.h reads the whole file.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/schema.h"

namespace lapwing {

inline constexpr char kRecordFileSuffix[] = ".records";  // of a file name; .zst may follow

// The description of a file's records.
struct RecordFileHead {
  std::string schema;              // its name
  std::uint32_t record_bytes = 0;  // 8 to 4,088
  // The schema with this name and size; nullopt if the file has none.
  std::optional<Schema> description = {};

  friend bool operator==(const RecordFileHead&, const RecordFileHead&) = default;
};

// Returns the head as in a file: all bytes before the first record. Errors: kInvalidArgument (an
// impossible name or size, a description of other records, or one that Schema::check() refuses).
absl::StatusOr<std::string> encode_record_file_head(const RecordFileHead& head);

// Returns the size in bytes of a file's head, at most slightly more than 48 KiB, from its first
// sizeof(RecordFileHeader) bytes. Errors: kBadInput (not a record file, damaged, or contradictory
// sizes), kUnsupported (written by a later release).
absl::StatusOr<std::size_t> record_file_head_bytes(std::span<const std::byte> prelude);

// The inverse of encode_record_file_head, for the whole head. Errors: those of
// record_file_head_bytes; kBadInput also if the description does not match the hash in the header,
// or describes other records.
absl::StatusOr<RecordFileHead> parse_record_file_head(std::span<const std::byte> bytes);

}  // namespace lapwing
