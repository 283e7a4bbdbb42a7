// Files that get their name once they are complete. A reader, or a start after a power cut, finds
// the old file or the new one, never a partial file.
//
// Thread safety: free functions; one writer per file. Errors: those of the Disk.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"

namespace lapwing {

// The suffix of a file's name until the file is complete and synced.
inline constexpr char kUnfinishedSuffix[] = ".new";

// Creates the file `path` under its unfinished name. Replaces a file that a killed writer left
// there. Ignores `options.mode` and uses kCreate.
absl::StatusOr<OpenFile> create_unfinished(Disk& disk, const std::string& path,
                                           OpenOptions options = {});
// Syncs `file`, which create_unfinished(disk, path) returned, renames it to `path`, and syncs the
// directory.
absl::Status finish_file(Disk& disk, const OpenFile& file, const std::string& path);

// Replaces `path` with a file with this content. If it fails, the file under the unfinished name is
// removed, and `path` is unchanged.
absl::Status write_whole_file(Disk& disk, const std::string& path, std::string_view content,
                              OpenOptions options = {});

// A missing file is not an error.
absl::Status remove_if_there(Disk& disk, const std::string& path);

}  // namespace lapwing
