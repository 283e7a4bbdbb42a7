#include "snapshot/journal/segment_creation.h"

#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "os/whole_file.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/sum_file.h"

namespace lapwing {
namespace {

// Makes one file under its unfinished name: `bytes` at its start, `size` in all, synced.
absl::Status create_file(const JournalFiles& files, const std::string& path,
                         std::span<const std::byte> bytes, std::uint64_t size) {
  Disk& disk = *files.disk;
  const absl::StatusOr<OpenFile> file = create_unfinished(disk, path);
  if (!file.ok()) return file.status();
  absl::Status status = size > 0 ? disk.allocate(file->get(), size) : absl::OkStatus();
  if (status.ok()) status = disk.write_at(file->get(), 0, bytes);
  if (status.ok()) status = disk.sync(file->get());
  return status;
}

absl::Status give_name(const JournalFiles& files, const std::string& path) {
  return files.disk->rename(absl::StrCat(path, kUnfinishedSuffix), path);
}

}  // namespace

absl::Status create_segment(const JournalFiles& files, std::uint64_t segment,
                            const std::string& schema, std::uint64_t wall_ns) {
  const SegmentHeader header =
      make_segment_header(files.journal_id, files.geometry, segment, schema, wall_ns);
  const std::vector<std::byte> sums(sum_file_bytes(files.geometry));
  const std::string jnl = files.path(segment, "jnl");
  const std::string sum = files.path(segment, "sum");
  const std::string idx = files.path(segment, "idx");
  absl::Status status = create_file(files, sum, sums, sums.size());
  if (status.ok()) status = create_file(files, idx, {}, 0);
  if (status.ok()) {
    status = create_file(files, jnl, std::as_bytes(std::span(&header, 1)),
                         segment_file_bytes(files.geometry));
  }
  if (status.ok()) status = give_name(files, sum);
  if (status.ok()) status = give_name(files, idx);
  if (status.ok()) status = files.disk->sync_directory(files.directory);
  if (status.ok()) status = give_name(files, jnl);
  if (status.ok()) status = files.disk->sync_directory(files.directory);
  return status;
}

}  // namespace lapwing
