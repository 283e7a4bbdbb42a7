// Checks who can write to a checkpoint's directory: docs/explanation/threat-model.md.
//
// Thread safety: free function.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace lapwing {

// Ok if <bus>/checkpoint and `directory`, <bus>/checkpoint/<fold>, are directories that belong to
// the bus's owner, to root or to this user, and no other user can write to them. Also ok if they do
// not exist. Errors: kNotPermitted, kNotALapwingFile (for example a link), with the remedy;
// kSystem.
absl::Status check_checkpoint_directory(const std::string& directory);

}  // namespace lapwing
