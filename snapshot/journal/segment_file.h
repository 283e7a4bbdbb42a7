// The .jnl file: its header page, made by whoever creates a segment and checked by whoever opens
// one, and the space that it has reserved.
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

// Ok if `header` is that of this segment of this journal. `path` only names the file in the
// message. Errors: kNotALapwingFile (magic), kAbiMismatch (version), kDamaged (checksum, or a field
// that does not belong to this segment).
absl::Status check_segment_header(const SegmentHeader& header, const Id128& journal_id,
                                  const JournalGeometry& geometry, std::uint64_t segment,
                                  const std::string& path);

inline std::uint64_t segment_file_bytes(const JournalGeometry& geometry) {
  return kSegmentHeaderBytes + geometry.segment_bytes();
}

// Gives the space that the segment of `last` has reserved behind the block of `last` back to the
// file system. No record has a place there: it reads as zeros, as before, and the file keeps its
// size. So nobody who reads or maps the file notices. Ok, with nothing done, where the file system
// cannot.
absl::Status release_reserved_space(Disk& disk, FileHandle jnl, const JournalGeometry& geometry,
                                    Sequence last);

}  // namespace lapwing
