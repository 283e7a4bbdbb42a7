// Maps the records of a finished segment, each verified by its block's sum and by its exact stamp.
//
// A segment is finished when all of its records are durable. After that, only `lapwing repair`
// writes to the file. Retention removes it as a whole, which does not affect a mapping.
//
// Thread safety: free function; its result is immutable. Borrows the Disk for the call.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/mapping.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

struct SegmentMapping {
  Pages pages;
  std::span<const std::byte> slots;  // part of the pages: first … last, contiguous
};

// `first` … `last` must be durable records of one segment with no void between them. Errors: those
// of Disk::map_finished; kNotFound, kDamaged with file, offset and sequence, kNotALapwingFile,
// kAbiMismatch, kSystem.
absl::StatusOr<SegmentMapping> map_segment(const JournalFiles& files, Sequence first,
                                           Sequence last);

}  // namespace lapwing
