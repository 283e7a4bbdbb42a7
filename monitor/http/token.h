// The secret that a client presents to the server.
//
// Thread safety: free functions.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lapwing {

inline constexpr std::size_t kTokenCharsMin = 32;
inline constexpr std::size_t kTokenCharsMax = 512;

// 256 random bits, as 64 hexadecimal digits. Errors: kSystem.
absl::StatusOr<std::string> make_token();

// Reads the only line of a file that this user owns and that no other user may read or write.
// Errors: kNotPermitted (other users may read it, or it belongs to another user), kNotALapwingFile
// (not a regular file), kInvalidArgument (too short, too long, or with characters that a header
// cannot contain), kNotFound, kSystem.
absl::StatusOr<std::string> read_token(const std::string& path);

// Takes the same time wherever the two differ. Their lengths are not secret.
bool tokens_are_equal(absl::string_view a, absl::string_view b);

}  // namespace lapwing
