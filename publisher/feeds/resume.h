// Checks whether a feed continues the records in a journal that came from the same source.
//
// A source is identified by its content, not by its path: the next day's file may have the same
// path, and a file may be renamed. The fingerprint identifies the source. In addition, the newest
// record in the journal must equal the source's record at that position.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/publisher.h"
#include "publisher/feeds/feed.h"
#include "snapshot/schema/record_clock.h"

namespace lapwing {

// XXH3-64, never 0, of `metadata`, `schema` and the first record.
std::uint64_t fingerprint_of(const std::string& metadata, const std::string& schema,
                             std::span<const std::byte> first_record);

// True if a source record equals the one in the journal. `stamped`: the clock whose publish times
// may differ, or null.
bool is_same_record(std::span<const std::byte> in_source, std::span<const std::byte> in_journal,
                    const RecordClock* stamped);

// Returns the error for a source that does not continue the records in the journal.
absl::Status source_mismatch(const std::string& source, const std::string& why);

}  // namespace lapwing
