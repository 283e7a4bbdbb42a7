// The public key of an NKey, which libnats does not derive from its seed.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lapwing {

// `seed`: SU…, 58 characters of base 32. Returns the user's public key, U…. Errors: kInvalidArgument,
// without the seed in the message.
absl::StatusOr<std::string> nkey_public_key(std::string_view seed);

// The first line that is a user's seed; empty if there is none.
std::string_view find_nkey_seed(std::string_view text);

}  // namespace lapwing
