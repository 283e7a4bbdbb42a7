// The feeds' metadata that a journal keeps, one for each that a session of it had:
// journal/metadata/<hash, 16 hex digits>.dbn. So old records keep the symbols and the dataset that
// they were published with, whichever feed came later.
//
// Thread safety: free functions; one writer for a journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"
#include "snapshot/bus_directory.h"
#include "snapshot/journal/kept_files.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {

inline constexpr KeptFiles kKeptMetadata = {"metadata", "dbn", kMetadataBytesMax};

// The hash by which a session names its feed's metadata: XXH3-64, never 0. 0 for no metadata.
std::uint64_t metadata_hash_of(std::string_view metadata);

// Whether the session says which metadata its feed had. One of version 1 does not, nor does one that
// `lapwing repair` made: the bus directory's metadata.dbn is the nearest there is.
bool names_metadata(const SessionBegin& session);

// Makes it durable. Errors: kLimit (more than kMetadataBytesMax), kNoSpace, kNotPermitted, kSystem.
absl::Status keep_metadata(Disk& disk, const std::string& journal_root,
                           const std::string& metadata);

// The metadata that this session's records were published with; empty if its feed had none.
// kNotFound if the session does not name them. Errors also: kDamaged (its content has another hash), kNotPermitted, kSystem.
absl::StatusOr<std::string> read_kept_metadata(Disk& disk, const std::string& journal_root,
                                               const SessionBegin& session);

}  // namespace lapwing
