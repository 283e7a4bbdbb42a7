// The metadata that a journal keeps, one file for each of its sessions' feeds:
// journal/metadata/<hash, 16 hex digits>.dbn. So old records keep the symbols and the dataset with
// which they were published, even if later feeds have different ones.
//
// Thread safety: free functions; one writer per journal.
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

// The hash that a session stores for its feed's metadata: XXH3-64, never 0. 0 for no metadata.
std::uint64_t metadata_hash_of(std::string_view metadata);

// True if the session has the hash of its feed's metadata. Version 1 sessions and sessions made by
// `lapwing repair` do not; for these, metadata.dbn in the bus directory is used.
bool names_metadata(const SessionBegin& session);

// Stores the metadata durably. Errors: kLimit (more than kMetadataBytesMax), kNoSpace,
// kNotPermitted, kSystem.
absl::Status keep_metadata(Disk& disk, const std::string& journal_root,
                           const std::string& metadata);

// Returns the metadata with which this session's records were published; empty if its feed had
// none. Errors: kNotFound (the session has no metadata hash), kDamaged (the content has a different
// hash), kNotPermitted, kSystem.
absl::StatusOr<std::string> read_kept_metadata(Disk& disk, const std::string& journal_root,
                                               const SessionBegin& session);

}  // namespace lapwing
