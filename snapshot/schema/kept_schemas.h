// The descriptions that a journal keeps, one file for each that its sessions used:
// journal/schemas/<hash, 16 hex digits>.json. They move with the journal.
//
// Thread safety: free functions; one writer per journal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/schema.h"
#include "os/io.h"
#include "snapshot/journal/kept_files.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

inline constexpr KeptFiles kKeptSchemas = {"schemas", "json", kSchemaTextBytesMax};

// The schema is durable when this returns. Errors: kNoSpace, kNotPermitted, kSystem.
absl::Status keep_schema(Disk& disk, const std::string& journal_root, const Schema& schema);

// Errors: kNotFound, kNotPermitted, kDamaged (the text has a different hash), kUnsupported (written
// by a later release), kSystem.
absl::StatusOr<Schema> read_kept_schema(Disk& disk, const std::string& journal_root,
                                        std::uint64_t hash);

// Returns the hash of the newest description in this journal's sessions. It may not be the last
// session's, because a release without descriptions may have continued the journal. 0 if no session
// has one.
std::uint64_t newest_description(const SessionLog& sessions, const Id128& journal_id);

// Parses the description in `text`, which must have this hash. `where` is its path, for messages.
// Errors: kDamaged, kUnsupported.
absl::StatusOr<Schema> parse_with_hash(std::string_view text, std::uint64_t hash,
                                       const std::string& where);

}  // namespace lapwing
