// Small files that a journal keeps for its sessions, each named after the hash of its contents:
// <journal root>/<directory>/<hash, 16 hex digits>.<suffix>. They move with the journal.
//
// Thread safety: free functions; one writer per journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"

namespace lapwing {

struct KeptFiles {
  const char* directory;
  const char* suffix;
  std::size_t bytes_max;  // of one file

  std::string path(const std::string& journal_root, std::uint64_t hash) const;
};

// Stores the contents durably under their name. Does not rewrite a file that already has them.
// Errors: kNoSpace, kNotPermitted, kSystem.
absl::Status keep_file(Disk& disk, const std::string& journal_root, const KeptFiles& kind,
                       std::uint64_t hash, const std::string& content);

// Reads the contents without checking their hash. Errors: kNotFound, kNotPermitted, kDamaged (too
// long), kSystem.
absl::StatusOr<std::string> read_kept_file(Disk& disk, const std::string& journal_root,
                                           const KeptFiles& kind, std::uint64_t hash);

// Removes the files of this kind whose hash is not in `wanted`. Errors: kNotPermitted, kSystem.
absl::Status remove_unwanted_files(Disk& disk, const std::string& journal_root,
                                   const KeptFiles& kind,
                                   const absl::flat_hash_set<std::uint64_t>& wanted);

}  // namespace lapwing
