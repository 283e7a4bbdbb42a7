// Record files: records of one size behind a head that says what they are. For records that DBN
// does not have. This is the head (proto/record_file_format.h); record_writer.h writes what comes
// behind it, record_file_reader.h reads all.
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

inline constexpr char kRecordFileSuffix[] = ".records";  // of a name; .zst may follow

// What the records of a file are.
struct RecordFileHead {
  std::string schema;              // its name
  std::uint32_t record_bytes = 0;  // 8 to 4,088
  // Of that name and size. Nothing: nobody has described them.
  std::optional<Schema> description = {};

  friend bool operator==(const RecordFileHead&, const RecordFileHead&) = default;
};

// The head as it stands in a file: all bytes in front of the first record.
// Errors: kInvalidArgument (a name or a size that no records have, a description of others, or one
// that Schema::check() refuses).
absl::StatusOr<std::string> encode_record_file_head(const RecordFileHead& head);

// Bytes of a file's head, as its first sizeof(RecordFileHeader) bytes say: at most 48 KiB and some.
// Errors: kBadInput (no record file, damaged, or sizes that contradict each other), kUnsupported
// (a later release wrote it).
absl::StatusOr<std::size_t> record_file_head_bytes(std::span<const std::byte> prelude);

// The inverse of encode_record_file_head, of the whole head. Errors: those of
// record_file_head_bytes; kBadInput also for a description that has another hash than the header
// says, or is of other records.
absl::StatusOr<RecordFileHead> parse_record_file_head(std::span<const std::byte> bytes);

}  // namespace lapwing
