// The .jnl file's header page: made by whoever creates a segment, checked by whoever opens one.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
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

}  // namespace lapwing
