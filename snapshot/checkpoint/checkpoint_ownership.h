// Who may put a checkpoint where it would be believed: docs/explanation/threat-model.md.
//
// Thread safety: a free function.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace lapwing {

// Ok if <bus>/checkpoint and `directory`, <bus>/checkpoint/<fold>, are directories of the bus's
// owner, of root or of this user, and writable by no one else; or if there is none yet. Errors:
// kNotPermitted, kNotALapwingFile (a link, say, in place of one), with the remedy; kSystem.
absl::Status check_checkpoint_directory(const std::string& directory);

}  // namespace lapwing
