// Files that get their name when they are whole: a reader finds the old file or the new one, never a
// part, and so does a starter after a power cut.
//
// Thread safety: free functions; one writer for a file. Errors: those of the Disk.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"

namespace lapwing {

// What a file is called, behind its own name, until it is whole and synced.
inline constexpr char kUnfinishedSuffix[] = ".new";

// Creates the file `path` under its unfinished name; what a killed writer left there is replaced.
// `options.mode` is kCreate, whatever it says.
absl::StatusOr<OpenFile> create_unfinished(Disk& disk, const std::string& path,
                                           OpenOptions options = {});
// Syncs `file`, which create_unfinished(disk, path) made, gives it its name, and syncs the
// directory.
absl::Status finish_file(Disk& disk, const OpenFile& file, const std::string& path);

// Replaces `path` by a file with this content. If it fails, the file under the unfinished name is
// removed, and `path` is unchanged.
absl::Status write_whole_file(Disk& disk, const std::string& path, std::string_view content,
                              OpenOptions options = {});

// A file that is not there is no error.
absl::Status remove_if_there(Disk& disk, const std::string& path);

}  // namespace lapwing
