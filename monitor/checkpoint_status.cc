#include "monitor/checkpoint_status.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/posix_io.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/checkpoint_header.h"

namespace lapwing {
namespace {

CheckpointStatus status_of(Disk& disk, const std::string& fold, const CheckpointFile& newest) {
  CheckpointStatus status{.fold = fold, .usable = absl::OkStatus(), .as_of = newest.as_of};
  const absl::StatusOr<CheckpointHeader> header = LoadedCheckpoint::read_header(disk, newest.path);
  status.usable = header.status();
  if (!header.ok()) return status;
  status.written_wall_ns = header->created_wall_ns;
  status.entries = header->entry_count;
  status.bytes = checkpoint_layout(header->entry_count, header->entry_bytes).file_bytes;
  return status;
}

}  // namespace

absl::StatusOr<std::vector<CheckpointStatus>> read_checkpoints(const std::string& bus_directory) {
  PosixDisk disk;
  absl::StatusOr<std::vector<std::string>> folds =
      disk.list(absl::StrCat(bus_directory, "/", kCheckpointDirectoryName));
  if (errc_of(folds.status()) == Errc::kNotFound) return std::vector<CheckpointStatus>();
  if (!folds.ok()) return folds.status();
  std::ranges::sort(*folds);
  std::vector<CheckpointStatus> found;
  for (const std::string& fold : *folds) {
    if (fold == kCheckpointStoreName || found.size() == kCheckpointFoldsMax) continue;
    const absl::StatusOr<std::vector<CheckpointFile>> files =
        list_checkpoints(disk, checkpoint_directory(bus_directory, fold));
    if (!files.ok() || files->empty()) continue;  // not a fold's directory
    found.push_back(status_of(disk, fold, files->front()));
  }
  return found;
}

}  // namespace lapwing
