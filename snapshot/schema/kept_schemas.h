// The descriptions that a journal keeps, one for each that a session of it had:
// journal/schemas/<hash, 16 hex digits>.json. They go with the journal, wherever it is moved.
//
// Thread safety: free functions; one writer for a journal.
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

// Durable when it returns.
// Errors: kNoSpace, kNotPermitted, kSystem.
absl::Status keep_schema(Disk& disk, const std::string& journal_root, const Schema& schema);

// Errors: kNotFound, kNotPermitted, kDamaged (not the text that the hash is of), kUnsupported (a
// later release wrote it), kSystem.
absl::StatusOr<Schema> read_kept_schema(Disk& disk, const std::string& journal_root,
                                        std::uint64_t hash);

// Of this journal's sessions the hash of the newest description that one had: a release that knows
// of none may have gone on with it. 0: none had.
std::uint64_t newest_description(const SessionLog& sessions, const Id128& journal_id);

// The description in `text`, which lies at `where` and is to have that hash.
// Errors: kDamaged, kUnsupported.
absl::StatusOr<Schema> parse_with_hash(std::string_view text, std::uint64_t hash,
                                       const std::string& where);

}  // namespace lapwing
