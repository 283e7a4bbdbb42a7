// The .jnl file: its header page, which is written when a segment is created and checked when it is
// opened, and its reserved space.
//
// Thread safety: free functions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "os/io.h"
#include "proto/journal_format.h"
#include "proto/schema_label.h"
#include "snapshot/journal/journal_geometry.h"

namespace lapwing {

SegmentHeader make_segment_header(const Id128& journal_id, const JournalGeometry& geometry,
                                  std::uint64_t segment, const SchemaLabel& schema,
                                  std::uint64_t wall_ns);

// Ok if `header` belongs to this segment of this journal. `path` is only used in messages. Errors:
// kNotALapwingFile (magic), kAbiMismatch (version), kDamaged (checksum, or a field that does not
// match this segment).
absl::Status check_segment_header(const SegmentHeader& header, const Id128& journal_id,
                                  const JournalGeometry& geometry, std::uint64_t segment,
                                  const std::string& path);

inline std::uint64_t segment_file_bytes(const JournalGeometry& geometry) {
  return kSegmentHeaderBytes + geometry.segment_bytes();
}

// Releases the space that `last`'s segment has reserved after `last`'s block. It
// contains no records, it still reads as zeros, and the file keeps its size, so
// processes that read or map the file are not affected. Returns ok without doing
// anything if the file system does not support this.
absl::Status release_reserved_space(Disk& disk, FileHandle jnl, const JournalGeometry& geometry,
                                    Sequence last);

}  // namespace lapwing
