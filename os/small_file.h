// Small files that are read and replaced as a whole: bus.json, metadata, a recording's position.
//
// A file is replaced atomically (os/whole_file.h).
//
// Thread safety: free functions; one writer per file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"

namespace lapwing {

// Replaces <directory>/<name> with a file that contains `content`. Its mode is 0600, or readable by
// the group. Errors: kNoSpace, kNotPermitted, kNotFound (the directory), kSystem.
absl::Status replace_file(const std::string& directory, const std::string& name,
                          const std::string& content, std::optional<unsigned> group);
// The same on the given disk, with the permissions that the disk sets.
absl::Status replace_file(Disk& disk, const std::string& directory, const std::string& name,
                          const std::string& content);

// Errors: kNotFound, kNotPermitted, kNotALapwingFile, kDamaged (more than bytes_max), kSystem.
absl::StatusOr<std::string> read_small_file(const std::string& path, std::size_t bytes_max);
absl::StatusOr<std::string> read_small_file(Disk& disk, const std::string& path,
                                            std::size_t bytes_max);

}  // namespace lapwing
