// Keeps a checkpoint that was fetched from the origin, so that a checkpointer on the mirror starts
// from it.
//
// Thread safety: free functions; one writer for a directory.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"
#include "proto/checkpoint_format.h"

namespace lapwing {

// The header of a whole checkpoint file. Errors: kDamaged with what is wrong.
absl::StatusOr<CheckpointHeader> check_checkpoint(std::string_view file);

// Writes the file to <bus>/checkpoint/<fold>/<sequence>.ckpt, and returns the path. Errors: those of
// check_checkpoint(); kNoSpace, kNotPermitted, kNotALapwingFile, kSystem.
absl::StatusOr<std::string> keep_checkpoint(Disk& disk, const std::string& bus,
                                            std::string_view file);

}  // namespace lapwing
