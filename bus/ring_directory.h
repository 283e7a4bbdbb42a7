// Determines where a ring file may be, and how large it may be there.
//
// Thread safety: free functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace lapwing {

// The extension of a ring file. The name before it is the session's id.
inline constexpr char kRingFileExtension[] = ".ring";

// The most names of /dev/shm that one search visits. Another user can make millions.
inline constexpr std::size_t kNamesVisitedMax = 131'072;

// Directories under /dev/shm for the calling user's rings. The first choice is lapwing-<uid>
// (0700), or lapwing-<uid>-<gid> (0750), whose files a group may read. Another user can create that
// name first, and the sticky bit then prevents its removal. In that case, the directory is called
// <that name>.XXXXXX, with six random letters and digits, and later starts search for it. No search
// is needed if the first choice belongs to this user or is free.

// Returns the existing directories that a start may use: the first choice, or those with a suffix
// if another user has taken the first choice. Links and mounts are ignored.
std::vector<std::string> private_ring_directories(std::optional<unsigned> group);
// Returns the path of the first such directory, or the plain name if none exists. Creates nothing.
// `found` is the result of private_ring_directories(). Without it, this function searches.
std::string private_ring_directory_path(std::optional<unsigned> group,
                                        const std::vector<std::string>& found);
std::string private_ring_directory_path(std::optional<unsigned> group);
// Returns the directory to use, and creates it if it is missing. `found` as above. Errors:
// kNotPermitted if the user's directory has a more permissive mode, or if the user has another kind
// of file with that name. Links are not followed.
absl::StatusOr<std::string> private_ring_directory(std::optional<unsigned> group,
                                                   const std::vector<std::string>& found);
absl::StatusOr<std::string> private_ring_directory(std::optional<unsigned> group);

// Returns true if `directory` is on tmpfs or ramfs.
absl::StatusOr<bool> is_on_tmpfs(const std::string& directory);

// Opens a directory in which only its owner (this user or root) can replace files: others may not
// write to it, unless it is sticky. Errors: kNotFound, kNotPermitted, kNotALapwingFile (not a
// directory).
absl::StatusOr<UniqueFd> open_ring_directory(const std::string& directory);

// Returns the capacity to use if the user does not set one: the largest power of two, up to
// kCapacityDefaultMax, for which two rings fit into half of the file system's free space. During a
// restart, the old and the new ring exist at the same time. Never below capacity_min(slot_bytes).
absl::StatusOr<std::uint64_t> default_capacity(int directory_fd, std::uint32_t slot_bytes);

}  // namespace lapwing
