// Where a ring file may live, and how large it may be there.
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

// What a ring file's name ends with; before it stands the session's id.
inline constexpr char kRingFileExtension[] = ".ring";

// The most names of /dev/shm that one search visits. Another user can make millions.
inline constexpr std::size_t kNamesVisitedMax = 131'072;

// Directories for rings of the calling user under /dev/shm. The first choice is lapwing-<uid>
// (0700), or lapwing-<uid>-<gid> (0750), whose files a group may read. Any user can make that name
// first, and the sticky bit prevents its removal. Then the directory is called <that name>.XXXXXX,
// with six random letters and digits, and later starts search for it. No search is needed if the
// first choice belongs to this user, or is free.

// The existing directories that a start may use: the first choice, or those with a suffix if another
// user has taken it. Links and mounts are ignored.
std::vector<std::string> private_ring_directories(std::optional<unsigned> group);
// The path of the first such directory that exists; the plain name if none exists. Makes nothing.
// `found` is what private_ring_directories() returned; without it, this searches.
std::string private_ring_directory_path(std::optional<unsigned> group,
                                        const std::vector<std::string>& found);
std::string private_ring_directory_path(std::optional<unsigned> group);
// Returns the directory to use, and makes it if it is missing. `found` as above. Errors:
// kNotPermitted if the user's own directory has more permissions, or if the name belongs to
// something else of the user. Links are not followed.
absl::StatusOr<std::string> private_ring_directory(std::optional<unsigned> group,
                                                   const std::vector<std::string>& found);
absl::StatusOr<std::string> private_ring_directory(std::optional<unsigned> group);

// True if `directory` is on tmpfs (or ramfs).
absl::StatusOr<bool> is_on_tmpfs(const std::string& directory);

// Opens a directory in which nobody but its owner (this user or root) can replace a file: others
// may not write to it, unless it is sticky. Errors: kNotFound, kNotPermitted, kNotALapwingFile (no
// directory).
absl::StatusOr<UniqueFd> open_ring_directory(const std::string& directory);

// Slots of the ring that is made when the user names no capacity: the largest power of two up to
// kCapacityDefaultMax of which two rings fit in half of the file system's free space, since a
// restart has the old and the new ring for a moment. Never below capacity_min(slot_bytes).
absl::StatusOr<std::uint64_t> default_capacity(int directory_fd, std::uint32_t slot_bytes);

}  // namespace lapwing
