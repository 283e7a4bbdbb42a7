#include "os/whole_file.h"

#include <span>

#include "lapwing/error.h"
#include "os/path.h"

namespace lapwing {

absl::StatusOr<OpenFile> create_unfinished(Disk& disk, const std::string& path,
                                           OpenOptions options) {
  const std::string unfinished = path + kUnfinishedSuffix;
  const auto stale = disk.exists(unfinished);
  if (!stale.ok()) return stale.status();
  const absl::Status removed = *stale ? disk.remove(unfinished) : absl::OkStatus();
  if (!removed.ok()) return removed;
  options.mode = OpenMode::kCreate;
  return open_file(disk, unfinished, options);
}

absl::Status finish_file(Disk& disk, const OpenFile& file, const std::string& path) {
  absl::Status status = disk.sync(file.get());
  if (status.ok()) status = disk.rename(path + kUnfinishedSuffix, path);
  if (status.ok()) status = disk.sync_directory(directory_of(path));
  return status;
}

absl::Status write_whole_file(Disk& disk, const std::string& path, std::string_view content,
                              OpenOptions options) {
  const auto file = create_unfinished(disk, path, options);
  if (!file.ok()) return file.status();
  absl::Status status = disk.write_at(file->get(), 0, std::as_bytes(std::span(content)));
  if (status.ok()) status = finish_file(disk, *file, path);
  if (!status.ok()) disk.remove(path + kUnfinishedSuffix).IgnoreError();
  return status;
}

absl::Status remove_if_there(Disk& disk, const std::string& path) {
  const absl::Status status = disk.remove(path);
  return errc_of(status) == Errc::kNotFound ? absl::OkStatus() : status;
}

}  // namespace lapwing
