// Checks who can write to a checkpoint's directory: docs/explanation/threat-model.md.
//
// Thread safety: free function.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace lapwing {

// Checks <bus>/checkpoint and `directory`, which is <bus>/checkpoint/<fold>. Both must belong to
// the bus's owner, to root or to this user, with no write access for others. They need not
// exist. Errors: kNotPermitted, kNotALapwingFile (for example a link), with the remedy;
// kSystem.
absl::Status check_checkpoint_directory(const std::string& directory);

}  // namespace lapwing
