// The secret that a client of the server shows.
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

// The only line of a file that belongs to this user and that nobody else may read or write.
// Errors: kNotPermitted (others may read it, or it is another user's), kNotALapwingFile (no plain
// file), kInvalidArgument (too short, too long, or with characters that no header may have),
// kNotFound, kSystem.
absl::StatusOr<std::string> read_token(const std::string& path);

// Takes as long wherever the two differ; their lengths are no secret.
bool tokens_are_equal(absl::string_view a, absl::string_view b);

}  // namespace lapwing
