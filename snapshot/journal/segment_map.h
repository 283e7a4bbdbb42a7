// Maps the records of a finished segment, each proven by its block's sum and by its exact stamp.
//
// Finished: every record of the segment is durable. Nothing of Lapwing writes to such a file again,
// but for `lapwing repair`; retention removes it as a whole, which leaves a mapping as it is.
//
// Thread safety: a free function; what it returns is immutable. Borrows the Disk for the call.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/mapping.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

struct SegmentMapping {
  Pages pages;
  std::span<const std::byte> slots;  // of the pages: first … last, end to end
};

// `first` … `last` are durable records of one segment without a void among them. Errors: those of
// Disk::map_finished; kNotFound, kDamaged with file, offset and sequence, kNotALapwingFile,
// kAbiMismatch, kSystem.
absl::StatusOr<SegmentMapping> map_segment(const JournalFiles& files, Sequence first,
                                           Sequence last);

}  // namespace lapwing
