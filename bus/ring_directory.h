// Where a ring file may live, and how large it may be there.
//
// Thread safety: free functions.
#pragma once

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

// Returns the directory for rings of the calling user under /dev/shm, and makes it if it is
// missing: lapwing-<uid> (0700), or lapwing-<uid>-<gid> (0750), whose files a group may read. Any
// user can make that name first, and the sticky bit prevents its removal. Then the directory is
// called <that name>.XXXXXX, with six random letters and digits; every later start uses the same
// one. Errors: kNotPermitted if the user's own directory has more permissions, or if the name
// belongs to something else of the user. Links are not followed.
absl::StatusOr<std::string> private_ring_directory(std::optional<unsigned> group);
// The path of the first such directory that exists; the plain name if none exists. Makes nothing.
std::string private_ring_directory_path(std::optional<unsigned> group);
// All such directories of this user and group that exist. Each may contain rings.
std::vector<std::string> private_ring_directories(std::optional<unsigned> group);

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
